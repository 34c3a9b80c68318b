package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A result is the outcome of one mutation. It is a line of the results file.
type result struct {
	Room    string  `json:"room"`
	Name    string  `json:"name"`
	Sum     string  `json:"sum"`
	Verdict verdict `json:"verdict"`
	By      string  `json:"by,omitempty"` // the package and test that noticed it, or the cause
	Seconds float64 `json:"seconds"`
	Why     string  `json:"why"`
}

type verdict string

const (
	noticed  verdict = "noticed"
	survived verdict = "survived"
	stale    verdict = "no longer applies"
	broken   verdict = "does not compile"
)

// errTests: the tests fail without any mutation.
var errTests = errors.New("fails without the mutation too")

// A runner runs mutations. It is safe for concurrent use.
type runner struct {
	root  string
	limit time.Duration // for one go test
	whole bool          // if the patterns do not notice, try the whole suites

	mu      sync.Mutex
	trusted map[suite]bool // tests that pass without a mutation
}

func (r *runner) run(ctx context.Context, m *mutation) (*result, error) {
	res := &result{Room: m.room, Name: m.name, Sum: m.sum(), Why: m.why}
	start := time.Now()
	defer func() { res.Seconds = float64(time.Since(start).Milliseconds()) / 1000 }()

	files, err := m.apply(r.root)
	if err != nil {
		res.Verdict, res.By = stale, err.Error()
		return res, nil
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return nil, err
	}
	defer removeAll(dir)
	overlay, err := writeOverlay(r.root, dir, files)
	if err != nil {
		return nil, err
	}
	stages := [][]suite{m.tests}
	if r.whole {
		var suites []suite
		for _, s := range m.tests {
			if s.pattern != "" {
				suites = append(suites, suite{s.pkg, ""})
			}
		}
		stages = append(stages, suites)
	}
	for _, stage := range stages {
		for _, s := range stage {
			out := r.test(ctx, s, overlay, dir)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if out.passed {
				continue
			}
			if !out.compiled {
				res.Verdict, res.By = broken, out.cause
				return res, nil
			}
			if out.test != "" {
				if err := r.trust(ctx, suite{s.pkg, out.test}); err != nil {
					return nil, fmt.Errorf("%s: %w", m.id(), err)
				}
			}
			res.Verdict, res.By = noticed, strings.TrimSpace(s.pkg+" "+out.test+" "+out.cause)
			return res, nil
		}
	}
	res.Verdict = survived
	if !r.whole {
		res.By = "(only the named tests were run)"
	}
	return res, nil
}

// trust makes sure that a test passes without any mutation.
func (r *runner) trust(ctx context.Context, s suite) error {
	r.mu.Lock()
	ok := r.trusted[s]
	r.mu.Unlock()
	if ok {
		return nil
	}
	if out := r.test(ctx, suite{s.pkg, "^" + s.pattern + "$"}, "", ""); !out.passed {
		return fmt.Errorf("%s %s %w", s.pkg, s.pattern, errTests)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trusted[s] = true
	return nil
}

type outcome struct {
	passed, compiled bool
	test             string // the first that failed
	cause            string // if not a failed test
}

// test runs tests, with an overlay if there is one, below dir.
func (r *runner) test(ctx context.Context, s suite, overlay, dir string) outcome {
	args := []string{"test", "-failfast", "-vet=off", "-timeout", r.limit.String()}
	if s.pattern != "" {
		args = append(args, "-run", s.pattern)
	}
	// Time for the compiler, and for a process that does not hear the limit.
	ctx, cancel := context.WithTimeout(ctx, r.limit+10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append(args, s.pkg)...)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "PWD="+r.root)
	if overlay != "" {
		// By the environment: programs that tests build have the change too.
		cmd.Env = append(cmd.Env, "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay), "TMPDIR="+dir)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	b, err := cmd.CombinedOutput()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // leftovers of a killed test
	}
	return judge(b, err)
}

var (
	failLine  = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
	buildLine = regexp.MustCompile(`(?m)\[(build|setup) failed\]`)
	hangLine  = regexp.MustCompile(`(?m)^panic: test timed out`)
	hungLine  = regexp.MustCompile(`(?m)^\t+(Test[^\s/]*)\S* \(`)
	deadLine  = regexp.MustCompile(`(?m)^(fatal error|panic|signal|runtime): .*$`)
)

// judge reads what go test printed.
func judge(b []byte, err error) outcome {
	first := func(re *regexp.Regexp) string {
		if f := re.FindSubmatch(b); f != nil {
			return string(f[len(f)-1])
		}
		return ""
	}
	switch {
	case err == nil:
		return outcome{passed: true, compiled: true}
	case buildLine.Match(b):
		lines := bytes.SplitN(bytes.TrimSpace(b), []byte("\n"), 4)
		return outcome{cause: string(bytes.Join(lines[:min(3, len(lines))], []byte(" | ")))}
	case hangLine.Match(b):
		return outcome{compiled: true, cause: strings.TrimSpace("(time limit) " + first(hungLine))}
	case failLine.Match(b):
		return outcome{compiled: true, test: first(failLine)}
	case deadLine.Match(b):
		return outcome{compiled: true, cause: "(" + strings.TrimSpace(string(deadLine.Find(b))) + ")"}
	}
	return outcome{compiled: true, cause: "(" + err.Error() + ")"}
}

// writeOverlay writes changed files below dir, and the file for -overlay.
func writeOverlay(root, dir string, files map[string][]byte) (string, error) {
	var list struct{ Replace map[string]string }
	list.Replace = map[string]string{}
	for name, b := range files {
		to := filepath.Join(dir, strings.ReplaceAll(name, "/", "+"))
		if err := os.WriteFile(to, b, 0o644); err != nil {
			return "", err
		}
		list.Replace[filepath.Join(root, name)] = to
	}
	b, err := json.Marshal(list)
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, b, 0o644)
}

// removeAll removes a folder in which tests may have left folders without the right to write.
func removeAll(dir string) {
	_ = filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(name, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}
