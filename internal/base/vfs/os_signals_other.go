//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package vfs

func uninterrupted(call func()) { call() }
