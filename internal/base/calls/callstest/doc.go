//go:build !linux

// Package callstest is for Linux.
package callstest
