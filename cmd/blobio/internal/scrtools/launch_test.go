package scrtools_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cli"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/runloop"
	"blobio/internal/scr/transfer"
)

// fakeNodes are the nodes of a simulated cluster. Programs named ssh and srun, first in PATH, record their arguments and run
// commands in the private directory of a node. A node with a file down.NODE is off.
type fakeNodes struct {
	t    *testing.T
	dir  string // directory of the programs and their records
	root string // parent of the private directories
}

// onNode is the script that runs a command on a node, whose directories are below its own root. Words that name a directory of
// the node are rewritten, so that each node has its own namespace.
const onNode = `#!/bin/sh
node=$1; shift
n=$#; was=
while [ $n -gt 0 ]; do
	a=$1; shift; n=$((n-1))
	case $was:$a in
	--control:*|--cache:*) a="$a=$FAKE_ROOT/$node$a" ;;
	--dir:*|*/transfer.scrinfo) a="$FAKE_ROOT/$node$a" ;;
	esac
	set -- "$@" "$a"; was=$a
done
mkdir -p "$FAKE_ROOT/$node/local"
exec "$@"
`

// Like ssh: the words after the host are joined with blanks, and a shell on the node splits them again.
const fakeSSH = `#!/bin/sh
echo "ssh $*" >> "$FAKE_DIR/asked"
[ "$1 $2" = "-o BatchMode=yes" ] || { echo "usage: ssh" >&2; exit 255; }
shift 2; node=$1; shift
[ -e "$FAKE_DIR/down.$node" ] && { echo "ssh: connect to host $node port 22: No route to host" >&2; exit 255; }
exec sh -c "\"\$FAKE_DIR/onnode\" $node $*"
`

// Like srun: one task on each node of the list, ended together; or with --overlap a command on one node.
const fakeSrun = `#!/bin/sh
echo "srun $*" >> "$FAKE_DIR/asked"
overlap=; nodes=; exclude=
while :; do
	case $1 in
	--overlap) overlap=1 ;;
	--nodelist=*) nodes=${1#--nodelist=} ;;
	--exclude=*) exclude=${1#--exclude=} ;;
	--*) ;;
	*) break ;;
	esac
	shift
done
nodes=$("$FAKE_BLOBIO" scr hostlist --expand --separator ' ' "$nodes") || exit 1
for n in $nodes; do
	[ -e "$FAKE_DIR/down.$n" ] && { echo "srun: error: Node $n is not responding" >&2; exit 1; }
done
if [ -n "$overlap" ]; then exec "$FAKE_DIR/onnode" $nodes "$@"; fi
rank=0; pids=
for n in $nodes; do
	mkdir -p "$FAKE_ROOT/$n/local"
	BLOBIO_NODE=$n BLOBIO_NODE_DIR=$FAKE_ROOT/$n SLURM_PROCID=$rank "$@" &
	pids="$pids $!"; rank=$((rank+1))
done
code=0
for p in $pids; do
	wait $p; c=$?
	[ $code = 0 ] && code=$c
done
exit $code
`

func newFakeNodes(t *testing.T) *fakeNodes {
	f := &fakeNodes{t: t, dir: t.TempDir(), root: filepath.Join(t.TempDir(), "nodes")}
	for name, text := range map[string]string{"ssh": fakeSSH, "srun": fakeSrun, "onnode": onNode} {
		clitest.Check(t, os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o755))
	}
	exe, err := os.Executable()
	clitest.Check(t, err)
	for name, v := range map[string]string{"FAKE_DIR": f.dir, "FAKE_ROOT": f.root, "FAKE_BLOBIO": exe, "BLOBIO_TEST_MAIN": "1",
		"PATH": f.dir + string(os.PathListSeparator) + os.Getenv("PATH")} {
		t.Setenv(name, v)
	}
	if got, err := exec.LookPath("srun"); err != nil || filepath.Dir(got) != f.dir {
		t.Fatal(got, err)
	}
	return f
}

// off switches a node off, with all its data.
func (f *fakeNodes) off(node string) {
	f.t.Helper()
	clitest.Check(f.t, os.WriteFile(filepath.Join(f.dir, "down."+node), nil, 0o666))
	clitest.Check(f.t, os.RemoveAll(filepath.Join(f.root, node)))
}

// asked returns the command lines so far.
func (f *fakeNodes) asked() []string {
	b, err := os.ReadFile(filepath.Join(f.dir, "asked"))
	clitest.Check(f.t, err)
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

// TestDefect8RunLoopOnNodes checks the whole loop through srun, with access to nodes by ssh or srun, which the reference's
// scripts cannot do. A node is switched off after the start. The loop detects it, excludes it, and starts the program on a spare
// node. In the end the live nodes save their data, and the data of the lost node are rebuilt. Names contain blanks.
func TestDefect8RunLoopOnNodes(t *testing.T) {
	for _, remote := range []string{"ssh", "srun"} {
		t.Run(remote, func(t *testing.T) {
			allocation(t)
			f := newFakeNodes(t)
			prefix := filepath.Join(t.TempDir(), "a simulation's")
			clitest.Check(t, os.Mkdir(prefix, 0o777))
			t.Setenv("SCR_CNTL_BASE", "/local")
			t.Setenv("SCR_CACHE_BASE", "/local")
			t.Setenv("SCR_JOB_ID", "7")
			t.Setenv("SCR_COPY_TYPE", "XOR")
			prog := filepath.Join(f.dir, "prog")
			clitest.Check(t, os.WriteFile(prog, []byte(`#!/bin/sh
echo "rank $SLURM_PROCID run $BLOBIO_RUN on $BLOBIO_NODE of $BLOBIO_RUN_NODES: $1"
[ "$BLOBIO_RUN" = 1 ] || exit 4
: > "$FAKE_DIR/ready.$SLURM_PROCID"
while [ -e "$FAKE_DIR" ] && ! [ -e "$FAKE_DIR/done" ]; do sleep 0.02; done
exit 3
`), 0o755))
			over := make(chan clitest.Result, 1)
			go func() {
				over <- clitest.Blobio(t, "scr", "run", "--prefix", prefix, "--nodes", "n[1-5]", "--use", "4", "--runs", "2", "--pause", "0s", "--json",
					"--launcher", "srun", "--launcher-arg=--mem=0", "--remote", remote, "--tests", "echo,dir_capacity", "--", prog, "two words")
			}()
			for rank := 0; rank < 4; {
				if _, err := os.Stat(filepath.Join(f.dir, fmt.Sprint("ready.", rank))); err == nil {
					rank++
				}
				select {
				case r := <-over:
					t.Fatal(r)
				case <-time.After(time.Millisecond):
				}
			}
			file := crashed(t, prefix, f.root)
			f.off("n3")
			clitest.Check(t, os.WriteFile(filepath.Join(f.dir, "done"), nil, 0o666))
			r := <-over
			asked := strings.Join(f.asked(), "\n")
			var rep runloop.Report
			if err := json.Unmarshal([]byte(r.Out), &rep); err != nil || r.Code != cli.Findings {
				t.Fatal(r, err, asked)
			}
			if len(rep.Runs) != 2 || rep.Stop != runloop.NoRunsLeft || rep.Runs[0].Exit.Code != 3 || rep.Runs[1].Exit.Code != 4 || rep.Salvage != "done" {
				t.Errorf("%+v\n%s", rep, r.Err)
			}
			if len(rep.Down) != 1 || rep.Down[0].Node != "n3" || rep.Down[0].Test != "echo" || !strings.Contains(rep.Down[0].Reason, map[string]string{"ssh": "No route to host", "srun": "not responding"}[remote]) {
				t.Errorf("%+v", rep.Down)
			}
			clitest.Holds(t, r.Err, "rank 2 run 1 on n3 of n1,n2,n3,n4: two words", "run 2 on n5 of n1,n2,n5,n4: two words", "step1 is complete", "starts from step1")
			for _, want := range []string{
				`(?m)^srun --job-name=blobio-run-1 --nodes=4 --ntasks=4 --ntasks-per-node=1 --nodelist=n\[1-4\] --kill-on-bad-exit=1 --mem=0 \S*prog two words$`,
				`(?m)^srun --job-name=blobio-run-2 --nodes=4 --ntasks=4 --ntasks-per-node=1 --nodelist=n\[1-2,4-5\] --exclude=n3 --kill-on-bad-exit=1 --mem=0 \S*prog two words$`,
				map[string]string{"ssh": `(?m)^ssh -o BatchMode=yes n3 echo up$`, "srun": `(?m)^srun --overlap --nodes=1 --ntasks=1 --nodelist=n3 echo up$`}[remote],
				`scr check-node --json --free=false --dir /local=`,
				`scr scavenge --json --id 1 --control /local/`,
			} {
				if !regexp.MustCompile(want).MatchString(asked) {
					t.Errorf("nobody asked %s:\n%s", want, asked)
				}
			}
			for rank := range 4 {
				name, want := file(rank)
				if b, err := os.ReadFile(name); err != nil || !bytes.Equal(b, want) {
					t.Errorf("%s: %v, %d bytes", name, err, len(b))
				}
			}
		})
	}
}

// A session leaves its flushes to transfer processes, started through ssh and srun on nodes whose directory names have blanks.
// The run dies; the processes go on and end with the loop.
func TestScrRunTransferOnNodes(t *testing.T) {
	for _, remote := range []string{"ssh", "srun"} {
		t.Run(remote, func(t *testing.T) {
			allocation(t)
			f := newFakeNodes(t)
			prefix := filepath.Join(t.TempDir(), "a simulation's")
			clitest.Check(t, os.Mkdir(prefix, 0o777))
			exe, err := os.Executable()
			clitest.Check(t, err)
			r := clitest.Blobio(t, "scr", "run", "--prefix", prefix, "--nodes", "n1", "--pause", "0s", "--grace", "5m", "--runs", "2", "--transfer", "--launcher", "srun", "--remote", remote,
				"--tests", "echo", "-s", "SCR_CNTL_BASE=/local", "-s", "SCR_CACHE_BASE=/local", "-s", "SCR_FLUSH_ASYNC=1", "-s", "SCR_FLUSH_ASYNC_BW=0", "-s", "SCR_FLUSH=1", "-s", "SCR_CACHE_BYPASS=0",
				"-s", "SCR_COPY_TYPE=SINGLE", "-s", "SCR_JOB_ID=7 b", "-s", "SCR_USER_NAME=u", "-s", "BLOBIO_TEST_TRANSFER=1", "--", exe)
			if r.Code != cli.Good || !strings.Contains(r.Err, "run 2 of 2") {
				t.Fatal(r, f.asked())
			}
			x, err := prefixdir.Open(nil, prefix).Index.Read()
			clitest.Check(t, err)
			if e, ok := x.Entry("ckpt.1"); !ok || !e.Complete {
				t.Errorf("%+v %v", e, ok)
			}
			file := filepath.Join(f.root, "n1", "local", "u", "scr.7 b", transfer.FileName)
			if tf, err := transfer.ReadFile(t.Context(), nil, file, false); err != nil || tf.State != transfer.StateExiting {
				t.Errorf("%+v %v", tf, err)
			}
			for _, what := range []string{"scr transfer --command stop", "scr transfer --poll 100ms", "scr transfer --command exit"} {
				if !slices.ContainsFunc(f.asked(), func(a string) bool { return strings.HasPrefix(a, remote+" ") && strings.Contains(a, what) }) {
					t.Errorf("nobody asked %s of %s: %q", what, remote, f.asked())
				}
			}
		})
	}
}
