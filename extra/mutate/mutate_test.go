package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLists: each entry of the lists beside the program is of the form that it reads.
func TestLists(t *testing.T) {
	all, err := load(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		for _, s := range m.tests {
			if !strings.HasPrefix(s.pkg, "./") {
				t.Errorf("%s: package %q, want ./...", m.id(), s.pkg)
			}
		}
	}
}

func TestParse(t *testing.T) {
	const head = "= a\nwhy: w\ntest: ./p T1|T2\nfile: f.go\n"
	list, err := parse("room", []byte("# comment\n"+head+" \tx\n-\ty\n+\tz\n"))
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	m := list[0]
	if m.id() != "room/a" || m.tests[0] != (suite{"./p", "T1|T2"}) || strings.Join(m.edits[0].old, " ") != "x y" || strings.Join(m.edits[0].new, " ") != "x z" {
		t.Errorf("%+v", m)
	}
	for text, want := range map[string]string{
		"why: w\n":                    `1: "why: w" before the first entry`,
		"= a\nwhy: w\n":               "1: a: want lines why:, test: and file: of it",
		"= a\n-x\n":                   "2: a line of source, want file: first",
		head:                          "1: a: nothing changes in f.go",
		head + "-x\n+x\n":             "1: a: nothing changes in f.go",
		head + "+x\n":                 "1: a: nothing changes in f.go",
		head + "bad line\n":           `5: "bad line": want why:, test:, file: or a line of source`,
		head + "-x\n" + head + "-x\n": "6: a: twice",
	} {
		if _, err := parse("room", []byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestApply(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "f.go"), []byte("a\n\tb\nc\n\tb\nd\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	m := &mutation{edits: []edit{{"f.go", []string{"b", "c"}, []string{"x"}}, {"f.go", []string{"d"}, nil}}}
	files, err := m.apply(root)
	if err != nil || string(files["f.go"]) != "a\nx\n\tb\n" {
		t.Errorf("%q %v", files["f.go"], err)
	}
	for _, e := range []edit{{"f.go", []string{"b"}, nil}, {"f.go", []string{"c", "c"}, nil}, {"g.go", []string{"b"}, nil}} {
		m.edits = []edit{e}
		if _, err := m.apply(root); !errors.Is(err, errApplies) {
			t.Errorf("%v: %v", e, err)
		}
	}
}

func TestJudge(t *testing.T) {
	fail := errors.New("exit status 1")
	for text, want := range map[string]outcome{
		"--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/x\n--- FAIL: TestB (0.00s)\nFAIL\n": {compiled: true, test: "TestA"},
		"--- FAIL: TestA (0.00s)\npanic: oops\n":                                          {compiled: true, test: "TestA"},
		"panic: test timed out after 1s\n\trunning tests:\n\t\tTestC (1s)\n":              {compiled: true, cause: "(time limit) TestC"},
		"fatal error: all goroutines are asleep - deadlock!\n":                            {compiled: true, cause: "(fatal error: all goroutines are asleep - deadlock!)"},
		"# p\nf.go:1:1: declared and not used: x\nFAIL\tp [build failed]\n":               {cause: "# p | f.go:1:1: declared and not used: x | FAIL\tp [build failed]"},
		"signal: killed\nFAIL\n": {compiled: true, cause: "(signal: killed)"},
		"FAIL\n":                 {compiled: true, cause: "(exit status 1)"},
	} {
		if got := judge([]byte(text), fail); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
	if got := judge(nil, nil); !got.passed {
		t.Error(got)
	}
}

// TestRun runs mutations of a module of two lines, and goes on from a results file.
func TestRun(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module m\n\ngo 1.26.0\n")
	write("p/p.go", "package p\n\nfunc Two() int {\n\treturn 2\n}\n\nfunc Other() int {\n\treturn 3\n}\n")
	write("p/p_test.go", "package p\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {\n\tif Two() != 2 {\n\t\tt.Fail()\n\t}\n}\n")
	entry := func(name, old, new string) string {
		return "= " + name + "\nwhy: w\ntest: ./p Nothing\nfile: p/p.go\n-" + old + "\n+" + new + "\n"
	}
	write("extra/mutate/room.txt", entry("seen", "return 2", "return 1")+entry("unseen", "return 3", "return 4")+
		entry("gone", "return 5", "return 6")+entry("wrong", "return 2", "return x"))
	results := filepath.Join(root, "results")
	want := map[string]verdict{"seen": noticed, "unseen": survived, "gone": stale, "wrong": broken}
	for range 2 { // the second time from the file
		var out, errs strings.Builder
		if code := run(context.Background(), []string{"-C", root, "-results", results, "-json", "-j", "2"}, &out, &errs); code != 1 {
			t.Fatalf("code %d: %s", code, errs.String())
		}
		var list []result
		if err := json.Unmarshal([]byte(out.String()), &list); err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			if r.Verdict != want[r.Name] || r.Name == "seen" && r.By != "./p TestTwo" {
				t.Errorf("%+v, want %s", r, want[r.Name])
			}
		}
		if len(list) != len(want) {
			t.Errorf("%d results", len(list))
		}
	}
	var out strings.Builder
	if code := run(context.Background(), []string{"-C", root, "-results", results, "-name", "/seen$"}, &out, &out); code != 0 {
		t.Errorf("code %d: %s", code, out.String())
	}
	if code := run(context.Background(), []string{"-C", root, "-check"}, &out, &out); code != 1 {
		t.Errorf("code %d: %s", code, out.String())
	}
	write("p/p_test.go", "package p\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) { t.Fail() }\n")
	for _, args := range [][]string{{"-name", "/seen$"}, {"nosuchroom"}, {"-name", "nothing"}, {"-bad"}} {
		if code := run(context.Background(), append([]string{"-C", root}, args...), &out, &out); code != 2 {
			t.Errorf("%v: code %d: %s", args, code, out.String())
		}
	}
}
