//go:build !linux

package bench

import "runtime"

func cpuTime() float64                            { return 0 }
func settle(string)                               {}
func cpuModel() string                            { return "" }
func memoryTotal() int64                          { return 0 }
func kernel() string                              { return runtime.GOOS }
func loadAverage() string                         { return "" }
func fileSystem(string) (name string, free int64) { return "", 0 }
func forgetFile(string) error                     { return nil }
