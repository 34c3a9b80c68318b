//go:build !linux

package kvtree_test

import "runtime"

const locksHere = runtime.GOOS != "windows"
