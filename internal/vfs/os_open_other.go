//go:build !unix

package vfs

import "os"

func openSeekable(name string, flag int) (*os.File, error) { return open(name, flag|noFollow) }
