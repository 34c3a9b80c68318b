package mpitest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// processes returns the running processes of a session. A zombie with running threads counts as
// running.
func processes(session int) (ids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // the process has ended
		}
		// pid (name) state ppid pgrp session ...; the number of threads is the 20th
		text := string(b)
		f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
		if len(f) < 18 || f[3] != strconv.Itoa(session) || strings.ContainsAny(f[0], "ZX") && f[17] == "1" {
			continue
		}
		if id, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
