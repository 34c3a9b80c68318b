package main

import (
	"strings"
	"testing"
)

func TestStory(t *testing.T) {
	var out strings.Builder
	if err := story([]string{"-steps", "4"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if n := strings.Count(out.String(), "that of the undisturbed run"); n != len(allModes) {
		t.Errorf("%s", out.String())
	}
	t.Logf("%s", out.String())
	if err := story([]string{"-steps", "2", "-mode", "temporary", "-cadence", "1,0,0,0", "-dir", t.TempDir()}, &out); err != nil {
		t.Fatal(err)
	}
}

func TestStoryOfLostNodes(t *testing.T) {
	var out strings.Builder
	if err := story([]string{"-steps", "4", "-lost", "-dir", t.TempDir()}, &out); err != nil || !strings.Contains(out.String(), "that of the undisturbed run") {
		t.Fatalf("%v\n%s", err, out.String())
	}
}

func TestFlags(t *testing.T) {
	for _, args := range [][]string{{"-levels", "9"}, {"x"}, {"-cadence", "1,1"}, {"-at", "4:0"}, {"-at", "3:8"}, {"-cadence", "1,1,1,-1"}, {"-rank", "7"}, {"-lost"}, {"-lost", "-dir", "d", "-cadence", "0,1,1,1"}} {
		if err := story(args, &strings.Builder{}); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
}
