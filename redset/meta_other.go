//go:build !linux && !darwin

package redset

import "io/fs"

// sysMeta adds nothing here.
func sysMeta(*Meta, fs.FileInfo) {}
