package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	var errs bytes.Buffer
	p := &Progress{e: &Env{Stderr: &errs}, start: time.Now().Add(-time.Hour)}
	p.At("write", 1<<40, 1<<41) // the first report of a stage cannot have a rate
	if errs.Len() > 0 {
		t.Errorf("the first report prints %q", errs.String())
	}
	p.last = time.Now().Add(-time.Hour)
	p.At("write", 1<<40, 1<<41)
	if !strings.Contains(errs.String(), "write  50%") {
		t.Errorf("the second report prints %q", errs.String())
	}
	p.End()
	if s := errs.String(); !strings.HasSuffix(s, " \r") {
		t.Errorf("the end leaves the bar: %q", s)
	}
	for width, want := range map[int]bool{0: false, 20: true, 59: true, 80: false} {
		if tooNarrow(width) != want {
			t.Errorf("tooNarrow(%d) is %v", width, !want)
		}
	}
}
