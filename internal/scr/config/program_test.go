package config

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestPaths checks the settings of a source in the form of app.conf.
func TestPaths(t *testing.T) {
	s := load(t, "SCR_FLUSH=1\nSCR_FLUSH=2\nSCR_FETCH=1 SCR_DEBUG=1\nGROUPS=a X=1 Y=2\n", "")
	for _, c := range []string{"SCR_COPY_TYPE=SINGLE", "SCR_COPY_TYPE=FILE", "CKPT=0 TYPE=XOR SET_SIZE=4", "CKPT=1 INTERVAL=2"} {
		if _, _, err := s.Config(c); err != nil {
			t.Fatal(err)
		}
	}
	list := func(s *Set, src Source) string {
		var b []string
		for p := range Paths(s, src) {
			b = append(b, strings.Join(p, "/"))
		}
		slices.Sort(b)
		return strings.Join(b, " ")
	}
	if got, want := list(s, UserFile), "GROUPS/a GROUPS/a/X/1 GROUPS/a/Y/2 SCR_FETCH/1 SCR_FLUSH/2"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := list(s, SystemFile); got != "" {
		t.Errorf("%s", got)
	}
	want := "CKPT/0 CKPT/0/SET_SIZE/4 CKPT/0/TYPE/XOR CKPT/1 CKPT/1/INTERVAL/2 SCR_COPY_TYPE/FILE"
	if got := list(s, Program); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The program may set values that contain separators of the file syntax, as it may with the
// original SCR.
func TestConfigTakesValuesAsTheyAre(t *testing.T) {
	s := load(t, "", "")
	for text, want := range map[string]string{
		"SCR_PREFIX=/p/a=b":  "/p/a=b",
		"SCR_PREFIX= /p/#7":  "/p/#7",
		`SCR_PREFIX=/p/a\=b`: "/p/a=b",
	} {
		if _, _, err := s.Config(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got, ok, err := s.Config("SCR_PREFIX"); got != want || !ok || err != nil {
			t.Errorf("%s: %q %v %v, want %q", text, got, ok, err, want)
		}
	}
	if _, _, err := s.Config("SCR_PREFIX=a =b"); !errors.Is(err, ErrUsage) {
		t.Errorf("a value without a key: %v", err)
	}
}
