package main

// void blobio_monitor(void);
import "C"

// The call makes linkers take monitor.c from the static library, after Go's object file.
func init() { C.blobio_monitor() }
