package main

import (
	"fmt"
	"strings"
	"testing"
)

// The threads of the Go runtime have a larger timer slack, and the program's thread keeps its own; see monitor.c.
func TestTimerSlack(t *testing.T) {
	t.Run("shared", func(t *testing.T) { slack(t, library(t)) })
	t.Run("static", func(t *testing.T) {
		dir := t.TempDir()
		need(t, "gcc", "make", "go")
		run(t, "make", "static", "CC=gcc", "BUILD="+dir)
		slack(t, dir)
	})
}

func slack(t *testing.T, dir string) {
	out := run(t, compile(t, "gcc", "testdata/slack.c", dir, "blobio"))
	own, others := 0, 0
	for line := range strings.Lines(out) {
		var slack int
		if _, err := fmt.Sscanf(line, "own %d", &slack); err == nil {
			if own++; slack >= 1000000 {
				t.Errorf("the program's thread has a slack of %d ns", slack)
			}
		} else if _, err := fmt.Sscanf(line, "other %d", &slack); err == nil {
			if others++; slack != 1000000 {
				t.Errorf("a thread of Go has a slack of %d ns, want 1000000", slack)
			}
		}
	}
	if own != 1 || others == 0 {
		t.Errorf("%d threads of the program, %d of Go:\n%s", own, others, out)
	}
}
