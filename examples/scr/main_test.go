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

// TestStory runs the example with fewer steps.
func TestStory(t *testing.T) {
	t.Chdir(t.TempDir())
	out, err := os.Create("out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	err = story(t.Context(), []string{"-dir", "heat", "-steps", "60", "-every", "5", "-kills", "2", "-cells", "500", "-seed", "3"}, out)
	b, _ := os.ReadFile(out.Name())
	if err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	if !strings.Contains(string(b), "the result equals the undisturbed run") {
		t.Errorf("%s", b)
	}
	t.Logf("%s", b)
}

// TestFlags checks that wrong flags are errors.
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

// interrupter calls stop when the given words have been written to it, one after the other.
type interrupter struct {
	words []string
	stop  func()
	text  string // text written since the last word was found
}

func (w *interrupter) Write(b []byte) (int, error) {
	w.text += string(b)
	for len(w.words) > 0 {
		_, rest, found := strings.Cut(w.text, w.words[0])
		if !found {
			break
		}
		w.text, w.words = rest, w.words[1:]
		if len(w.words) == 0 {
			w.stop()
		}
	}
	return len(b), nil
}

// TestInterrupted checks that ctrl-C ends the example in each of its parts, and leaves neither the temporary directory nor
// a running process.
func TestInterrupted(t *testing.T) {
	for _, c := range []struct {
		name, steps string
		words       []string
	}{
		{"before", "60", nil},
		{"undisturbed", "1000000000", []string{"undisturbed run"}}, // does not end by itself
		{"disturbed", "60", []string{"run 1 on", "at step"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("TMPDIR", dir)
			t.Setenv("TMP", dir)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			out := &interrupter{words: c.words, stop: stop}
			switch c.name {
			case "before":
				stop()
			case "undisturbed": // interrupt when the run has saved a file
				out.stop = func() {
					go func() {
						for ctx.Err() == nil {
							if saved, _ := filepath.Glob(filepath.Join(dir, "*", "undisturbed", "*")); len(saved) > 0 {
								stop()
							}
							time.Sleep(time.Millisecond)
						}
					}()
				}
			}
			err := story(ctx, []string{"-steps", c.steps, "-kills", "1000", "-every", "20", "-cells", "500"}, out)
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%v %v", left, err)
			}
		})
	}
}
