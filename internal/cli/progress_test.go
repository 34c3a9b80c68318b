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
	p.At("write", 1<<40, 1<<41) // the first report of a stage has no rate
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

// TestCount checks that a bar of pieces appears with the first report, continues through the stages, and makes way for a line of
// text.
func TestCount(t *testing.T) {
	var errs bytes.Buffer
	p := &Progress{e: &Env{Stderr: &errs}, start: time.Now(), count: true}
	p.At("first", 1, 4)
	if s := errs.String(); !strings.Contains(s, "first") || !strings.Contains(s, "(1/4") {
		t.Errorf("the first report prints %q", s)
	}
	bar := p.bar
	p.At(strings.Repeat("s", 70), 9, 4)
	if p.bar != bar || p.stage != strings.Repeat("s", 59)+"…" || p.bar.State().CurrentNum != 3 {
		t.Errorf("the second stage is %q, at %d", p.stage, p.bar.State().CurrentNum)
	}
	p.Clear()
	if s := errs.String(); !strings.HasSuffix(s, " \r") || p.bar != nil {
		t.Errorf("Clear leaves the bar: %q", s)
	}
	p.At("again", 1, 4)
	if p.bar == nil {
		t.Error("no bar after Clear")
	}
	p.End()
	p.At("after the end", 1, 4)
	if p.bar != nil {
		t.Error("a bar after End")
	}
}
