package main

import (
	"os"
	"strings"
	"testing"
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
	err = story([]string{"-dir", "heat", "-steps", "120", "-every", "5", "-kills", "4", "-cells", "500", "-seed", "3"}, out)
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
	for _, args := range [][]string{{"-ranks", "1"}, {"x"}, {"-what"}, {"-steps", "0"}} {
		if err := story(args, os.Stdout); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
}
