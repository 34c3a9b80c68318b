//go:build cgo && unix && !inject

package main

import "blobio/comm"

func inject(string, comm.Comm) {}
