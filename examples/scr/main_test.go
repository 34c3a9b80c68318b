package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if _, ok := os.LookupEnv(childEnv); ok {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestStory is the example with fewer steps.
func TestStory(t *testing.T) {
	t.Chdir(t.TempDir())
	out, err := os.Create("out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	err = story(t.Context(), []string{"-dir", "heat", "-steps", "120", "-every", "5", "-kills", "4", "-cells", "500", "-seed", "3"}, out)
	b, _ := os.ReadFile(out.Name())
	if err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	if !strings.Contains(string(b), "that of the undisturbed run") {
		t.Errorf("%s", b)
	}
	t.Logf("%s", b)
}

// TestFlags: wrong ones are errors.
func TestFlags(t *testing.T) {
	old := t.TempDir()
	if err := os.Mkdir(filepath.Join(old, "disturbed"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-ranks", "1"}, {"x"}, {"-what"}, {"-steps", "0"}, {"-kills", "-1"}, {"-pause", "-1s"}, {"-dir", old}} {
		if err := story(t.Context(), args, os.Stdout); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
}

// TestInterrupted: ctrl-C ends the story in each of its parts, and leaves neither the temporary directory nor a run.
func TestInterrupted(t *testing.T) {
	for _, at := range []string{"", "undisturbed run", "killed after"} {
		dir := t.TempDir()
		t.Setenv("TMPDIR", dir)
		t.Setenv("TMP", dir)
		out, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		if at == "" {
			stop()
		}
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			for ctx.Err() == nil {
				if b, _ := os.ReadFile(out.Name()); strings.Contains(string(b), at) && at != "" {
					time.Sleep(30 * time.Millisecond)
					stop()
				}
				time.Sleep(time.Millisecond)
			}
		}()
		err = story(ctx, []string{"-steps", "60", "-kills", "1000", "-every", "20", "-cells", "500"}, out)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("at %q: %v", at, err)
		}
		stop()
		<-watched
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("at %q: %v %v", at, left, err)
		}
		if err := out.Close(); err != nil {
			t.Error(err)
		}
	}
}
