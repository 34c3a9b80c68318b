// Command scr demonstrates package scr. A small solver of the heat equation is killed repeatedly, and nodes are lost with
// their checkpoints. The solver still ends with the same bytes as an undisturbed run.
//
//	go run ./examples/scr                          # ten kills, in a temporary directory; ctrl-C ends it and cleans up
//	go run ./examples/scr -kills 30 -seed 7 -dir /tmp/heat
//
// All ranks are goroutines of one process, and a kill (SIGKILL or similar) ends all of them. The nodes are directories.
// Afterwards blobio scr index DIR/disturbed/prefix shows the prefix directory. blobio check
// DIR/disturbed/prefix/step400/heat0 checks a checkpoint in it, since the files of checkpoints are blob datasets.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := story(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		err = errors.New("interrupted")
	}
	fmt.Fprintln(os.Stderr, "scr:", err)
	os.Exit(2)
}

// childEnv is an environment variable. If it is set, the process is a single run of the solver. The value holds the
// arguments of the run, separated by newlines.
const childEnv = "BLOBIO_EXAMPLE_SCR"

type options struct {
	dir                        string
	ranks, cells, steps, every int
	kills                      int
	seed                       int64
	pause                      time.Duration
}

func story(ctx context.Context, args []string, out io.Writer) error {
	if v, ok := os.LookupEnv(childEnv); ok {
		return child(ctx, strings.Split(v, "\n"))
	}
	var o options
	f := flag.NewFlagSet("scr", flag.ContinueOnError)
	f.StringVar(&o.dir, "dir", "", "directory to work in (default: a temporary one, removed at the end)")
	f.IntVar(&o.ranks, "ranks", 4, "number of ranks, each on its own node")
	f.IntVar(&o.cells, "cells", 4096, "cells of each rank")
	f.IntVar(&o.steps, "steps", 400, "steps to take")
	f.IntVar(&o.every, "every", 10, "steps between checkpoints")
	f.IntVar(&o.kills, "kills", 10, "how often to kill the run")
	f.Int64Var(&o.seed, "seed", 1, "seed of the random numbers for times and kinds of kills")
	f.DurationVar(&o.pause, "pause", 2*time.Millisecond, "pause after each step, to leave time for kills")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	for _, v := range []struct {
		name        string
		have, least int
	}{{"ranks", o.ranks, 2}, {"cells", o.cells, 1}, {"steps", o.steps, 1}, {"every", o.every, 1}, {"kills", o.kills, 0}} {
		if v.have < v.least {
			return fmt.Errorf("-%s %d, want at least %d", v.name, v.have, v.least)
		}
	}
	if o.pause < 0 {
		return fmt.Errorf("-pause %v, want 0 or more", o.pause)
	}
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "blobio-scr")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		o.dir = dir
	}
	for _, name := range []string{"undisturbed", "disturbed"} { // otherwise the new runs would continue from these files
		if _, err := os.Lstat(filepath.Join(o.dir, name)); err == nil {
			return fmt.Errorf("%s exists from an earlier run: remove the directory, or give another -dir", filepath.Join(o.dir, name))
		}
	}
	return o.play(ctx, out)
}

// play runs the solver undisturbed, then disturbed, and compares the results.
func (o *options) play(ctx context.Context, out io.Writer) error {
	say := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	quiet := filepath.Join(o.dir, "undisturbed")
	say("undisturbed run")
	if err := o.solver(quiet, o.nodes(), nil).run(ctx); err != nil {
		return err
	}
	want, err := os.ReadFile(filepath.Join(quiet, "result"))
	if err != nil {
		return err
	}

	rnd := rand.New(rand.NewSource(o.seed))
	loud := filepath.Join(o.dir, "disturbed")
	nodes, spare := o.nodes(), o.ranks
	for run, kills := 1, 0; ; run++ {
		v := o.solver(loud, nodes, nil)
		after := time.Duration(0) // never kill
		if kills < o.kills {
			// This time is usually long enough for several more steps.
			after = time.Duration(50+rnd.Intn(250)) * time.Millisecond
		}
		say("run %d on %s", run, strings.Join(nodes, " "))
		killed, err := o.spawn(ctx, v, after, out)
		if err == nil {
			err = ctx.Err() // ctx.Err() is nil if the run ended by itself
		}
		if err != nil {
			return err
		}
		if !killed {
			done, err := v.done()
			if err != nil {
				return err
			}
			if done {
				break
			}
			return fmt.Errorf("run %d ended without a result", run)
		}
		kills++
		say("  killed after %v", after)
		if rnd.Intn(2) == 0 {
			i := rnd.Intn(len(nodes))
			if err := os.RemoveAll(filepath.Join(loud, "nodes", nodes[i])); err != nil {
				return err
			}
			say("  node %s and all its files are lost; a spare node replaces it", nodes[i])
			nodes[i] = fmt.Sprintf("node%d", spare)
			spare++
		}
		if rnd.Intn(3) == 0 {
			rnd.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
			say("  the ranks are distributed over the nodes again")
		}
	}
	got, err := os.ReadFile(filepath.Join(loud, "result"))
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("the result differs from the undisturbed run")
	}
	say("the result equals the undisturbed run: %d cells, all %d bytes equal", o.ranks*o.cells, len(got))
	return nil
}

func (o *options) nodes() []string {
	var out []string
	for i := range o.ranks {
		out = append(out, fmt.Sprintf("node%d", i))
	}
	return out
}

func (o *options) solver(dir string, nodes []string, say func(string, ...any)) *solver {
	if say == nil {
		say = func(string, ...any) {}
	}
	return &solver{Dir: dir, Ranks: o.ranks, Cells: o.cells, Steps: o.steps, Every: o.every, Nodes: nodes, Pause: o.pause, Say: say}
}

// spawn runs the solver in a separate process and kills the process after the time after (0: never).
func (o *options) spawn(ctx context.Context, v *solver, after time.Duration, out io.Writer) (killed bool, err error) {
	exe, err := os.Executable()
	if err != nil {
		return false, err
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join([]string{v.Dir, fmt.Sprint(v.Ranks), fmt.Sprint(v.Cells), fmt.Sprint(v.Steps),
		fmt.Sprint(v.Every), v.Pause.String(), strings.Join(v.Nodes, ",")}, "\n"))
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	if err := cmd.Start(); err != nil {
		return false, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	var alarm <-chan time.Time
	if after > 0 {
		alarm = time.After(after)
	}
	select {
	case err := <-done:
		return false, err
	case <-alarm:
	case <-ctx.Done():
	}
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return false, err
	}
	<-done
	return true, ctx.Err()
}

// child runs the solver once, in a process of its own.
func child(ctx context.Context, args []string) error {
	if len(args) != 7 {
		return fmt.Errorf("%s has %d lines", childEnv, len(args))
	}
	v := &solver{Dir: args[0], Nodes: strings.Split(args[6], ",")}
	for i, p := range []*int{&v.Ranks, &v.Cells, &v.Steps, &v.Every} {
		if _, err := fmt.Sscan(args[i+1], p); err != nil {
			return err
		}
	}
	v.Log = slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	var err error
	if v.Pause, err = time.ParseDuration(args[5]); err != nil {
		return err
	}
	last := ""
	v.Say = func(format string, args ...any) {
		line := fmt.Sprintf(format, args...)
		if strings.HasPrefix(line, "at step") {
			fmt.Println("  " + line)
		}
		last = line
	}
	err = v.run(ctx)
	if err == nil {
		fmt.Printf("  %s; finished\n", last)
	}
	return err
}
