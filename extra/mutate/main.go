package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const usage = `mutate [flags] [ROOM ...]

Runs the mutations of the rooms, or of all. Exit code 0: a test noticed each; 1: one survived, no longer applies
or does not compile; 2: the run did not get to its end, or a test fails without a mutation.

`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

type options struct {
	root, results, name string
	jobs                int
	limit               time.Duration
	json, check, again  bool
	fast                bool
	rooms               []string
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	f := flag.NewFlagSet("mutate", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() { fmt.Fprint(stderr, usage); f.PrintDefaults() }
	f.StringVar(&o.root, "C", "", "root of the repository (default: two folders above the working directory)")
	f.StringVar(&o.results, "results", "", "append results to this file, and leave out what it already has")
	f.StringVar(&o.name, "name", "", "only mutations whose ROOM/NAME matches this pattern")
	f.IntVar(&o.jobs, "j", 1, "how many at a time")
	f.DurationVar(&o.limit, "limit", 10*time.Minute, "time limit of one go test; a test that does not end has noticed")
	f.BoolVar(&o.json, "json", false, "print the results as an array of JSON")
	f.BoolVar(&o.check, "check", false, "only look whether all still apply; no test runs")
	f.BoolVar(&o.again, "again", false, "run again what the results file has as not noticed")
	f.BoolVar(&o.fast, "fast", false, "do not try whole suites where the named tests do not notice")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	o.rooms = f.Args()
	left, err := o.mutate(ctx, stdout)
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "mutate:", err)
		return 2
	case left > 0:
		return 1
	}
	return 0
}

// selected are the mutations that the command line names.
func (o *options) selected() ([]*mutation, error) {
	if o.root == "" {
		o.root = filepath.Join("..", "..")
	}
	var err error
	if o.root, err = filepath.Abs(o.root); err != nil {
		return nil, err
	}
	pattern, err := regexp.Compile(o.name)
	if err != nil {
		return nil, err
	}
	all, err := load(filepath.Join(o.root, "extra", "mutate"))
	if err != nil {
		return nil, err
	}
	for _, room := range o.rooms {
		if !slices.ContainsFunc(all, func(m *mutation) bool { return m.room == room }) {
			return nil, fmt.Errorf("no list for %s", room)
		}
	}
	list := slices.DeleteFunc(all, func(m *mutation) bool {
		return len(o.rooms) > 0 && !slices.Contains(o.rooms, m.room) || !pattern.MatchString(m.id())
	})
	if len(list) == 0 {
		return nil, fmt.Errorf("no mutation matches %q", o.name)
	}
	return list, nil
}

// mutate runs the selected mutations without a result and prints theirs. left is the number of unnoticed ones.
func (o *options) mutate(ctx context.Context, w io.Writer) (left int, err error) {
	list, err := o.selected()
	if err != nil {
		return 0, err
	}
	if o.check {
		return check(o.root, list, w), nil
	}
	done := map[string]*result{}
	record := func(*result) error { return nil }
	if o.results != "" {
		if done, err = readResults(o.results); err != nil {
			return 0, err
		}
		f, err := os.OpenFile(o.results, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		record = func(r *result) error { return json.NewEncoder(f).Encode(r) }
	}
	results := make([]*result, len(list))
	todo := make(chan int, len(list))
	for i, m := range list {
		if r := done[m.id()]; r != nil && r.Sum == m.sum() && (r.Verdict == noticed || r.Verdict == survived && !o.again && (o.fast || r.By == "")) {
			results[i] = r
			continue
		}
		todo <- i
	}
	close(todo)

	r := &runner{root: o.root, limit: o.limit, whole: !o.fast, trusted: map[suite]bool{}}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	var errs []error
	var wg sync.WaitGroup
	for range max(o.jobs, 1) {
		wg.Go(func() {
			for i := range todo {
				if ctx.Err() != nil {
					return
				}
				res, err := r.run(ctx, list[i])
				mu.Lock()
				switch {
				case errors.Is(err, errTests): // the others go on
					errs = append(errs, err)
				case err != nil:
					errs = append(errs, err)
					cancel()
				default:
					results[i] = res
					if err := record(res); err != nil {
						errs = append(errs, err)
						cancel()
					}
					if !o.json {
						printResult(w, res)
					}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil && len(errs) == 0 {
		errs = append(errs, err)
	}
	results = slices.DeleteFunc(results, func(r *result) bool { return r == nil })
	if o.json {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		errs = append(errs, e.Encode(results))
		left = printSums(io.Discard, results)
	} else {
		left = printSums(w, results)
	}
	return left, errors.Join(errs...)
}

// check prints the mutations that no longer apply, and the number of mutations of each room.
func check(root string, list []*mutation, w io.Writer) (left int) {
	n := map[string]int{}
	var rooms []string
	for _, m := range list {
		if n[m.room]++; n[m.room] == 1 {
			rooms = append(rooms, m.room)
		}
		_, err := m.apply(root)
		for _, s := range m.tests {
			if err == nil {
				err = s.matches(root)
			}
		}
		if err != nil {
			fmt.Fprintf(w, "%s.txt:%d: %s: %v\n", m.room, m.line, m.name, err)
			left++
		}
	}
	for i, room := range rooms {
		rooms[i] = fmt.Sprintf("%s %d", room, n[room])
	}
	fmt.Fprintf(w, "%d mutations (%s), %d no longer apply\n", len(list), strings.Join(rooms, ", "), left)
	return left
}
