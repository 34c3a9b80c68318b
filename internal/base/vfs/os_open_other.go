//go:build !unix

package vfs

func openSeekable(name string, flag int) (File, error) { return open(name, flag|noFollow) }
