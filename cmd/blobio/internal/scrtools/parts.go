package scrtools

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"strings"

	"blobio/internal/cli"
	"blobio/internal/scr/hostlist"
	"blobio/internal/scr/runloop"
)

// The parts of the loop, by their names for --only.
const (
	onlyPrerun  = "prerun"
	onlyPostrun = "postrun"
)

// part runs one part of the loop, for scripts that start the program themselves.
func (f *scrRunFlags) part(ctx context.Context, e *cli.Env) error {
	if err := f.load(false); err != nil {
		return err
	}
	if f.only == onlyPrerun {
		return f.prerun(ctx, e)
	}
	return f.postrun(ctx, e)
}

// prerun prepares an allocation.
func (f *scrRunFlags) prerun(ctx context.Context, e *cli.Env) error {
	checker, err := f.Checker()
	if err != nil {
		return err
	}
	did, err := runloop.Prerun(ctx, f.Dir)
	if err != nil {
		return err
	}
	if f.NodeRoot != "" {
		if err := f.Local.Prepare(f.Source.Nodes); err != nil {
			return err
		}
	}
	t, err := testNodes(ctx, checker, f.Source.Nodes)
	if err != nil {
		return err
	}
	if len(t.down) > 0 {
		e.Code = cli.Findings
	}
	if f.asJSON {
		return e.PrintJSON(t.json(map[string]any{"prefix": f.Dir.Path, "did": did, "skipped": append([]runloop.Skipped{}, t.skipped...)}))
	}
	for _, s := range did {
		fmt.Fprintln(e.Out, s)
	}
	t.print(e)
	return nil
}

// postrun saves data that only caches of live nodes hold.
func (f *scrRunFlags) postrun(ctx context.Context, e *cli.Env) error {
	if f.Reach == nil {
		return cli.Usagef("with --remote none the nodes cannot be reached, so their datasets cannot be saved")
	}
	if on, err := f.Params.Flag("SCR_ENABLE"); err != nil {
		return err
	} else if !on {
		fmt.Fprintln(e.Stderr, "blobio: nothing to do, because SCR_ENABLE is 0")
		return nil
	}
	checker, err := f.Checker()
	if err != nil {
		return err
	}
	t, err := testNodes(ctx, checker, f.Source.Nodes)
	if err != nil {
		return err
	}
	up := hostlist.Diff(f.Source.Nodes, checker.DownNodes())
	if len(up) == 0 && len(t.down) > 0 { // the loop's error would not name the reasons
		more := ""
		if n := len(t.down) - 1; n > 0 {
			more = fmt.Sprintf("; and %d more", n)
		}
		return fmt.Errorf("no node is up: %v%s", t.down[0], more)
	}
	rep, err := f.Salvage(ctx, up)
	if err != nil {
		return err
	}
	s := savedOf(e, rep, up)
	if f.asJSON {
		out := t.json(map[string]any{})
		maps.Copy(out, s.json("node"))
		return e.PrintJSON(out)
	}
	t.print(e)
	_, err = fmt.Fprintln(e.Out, strings.Join(s.lines(), "\n"))
	return err
}

// tested holds the results of node tests.
type tested struct {
	nodes   []string
	down    []runloop.Down
	skipped []runloop.Skipped
}

func testNodes(ctx context.Context, c *runloop.Checker, nodes []string) (t tested, err error) {
	t.nodes = nodes
	t.down, t.skipped, err = c.Check(ctx, nodes)
	return t, err
}

// json adds the nodes to out.
func (t *tested) json(out map[string]any) map[string]any {
	out["nodes"], out["down"] = t.nodes, append([]runloop.Down{}, t.down...)
	return out
}

func (t *tested) print(e *cli.Env) {
	for _, s := range t.skipped {
		fmt.Fprintf(e.Out, "node test skipped: %s: %s\n", s.Test, s.Why)
	}
	var bad []string
	for _, d := range t.down {
		bad = append(bad, d.Node)
		fmt.Fprintf(e.Out, "node down: %v\n", d)
	}
	up := hostlist.Diff(t.nodes, bad)
	fmt.Fprintf(e.Out, "%d of %d nodes are up", len(up), len(t.nodes))
	if len(up) > 0 {
		fmt.Fprintf(e.Out, ": %s", hostlist.Compress(up))
	}
	fmt.Fprintln(e.Out)
}

// missing returns the commands that a run needs but that are not installed.
func (f *scrRunFlags) missing(launcher runloop.Launcher) []string {
	out := []string{}
	need := func(name string) {
		if _, err := exec.LookPath(name); err != nil {
			out = append(out, name)
		}
	}
	if f.launcher != "local" {
		need(launcher.Name())
	}
	if f.Shell != nil {
		need(f.Shell.Name())
	}
	return out
}
