//go:build mpi && cgo && linux

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"blobio/blob"
	"blobio/comm"
	"blobio/comm/mpi"
	"blobio/extra/peers/lockfs"
	"blobio/internal/comm/mpitest"
)

// Ranks, and the simulated nodes that they are on.
const (
	nodeRanks  = 16
	nodeNodes  = 4
	envOnNodes = "BLOBIO_WORK_ON_NODES" // a file with nodeWork: this process is a rank
	envPage    = "BLOBIO_NODES_PAGE"    // a file for the tables of bench/results/nodes.md
)

// nodeWork is a job with all options of a writer.
type nodeWork struct {
	Job     Job
	Path    string
	Options blob.Options
}

// nodes runs programs over lockfs, each in a directory of its own.
type nodes struct {
	t      *testing.T
	lockfs string // program
	stripe lockfs.Layout
	page   strings.Builder
}

func newNodes(t *testing.T) *nodes {
	t.Helper()
	if !mpitest.OpenMPI(mpitest.Launcher(t)) {
		t.Skip("counted with Open MPI")
	}
	if f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0); err != nil || os.Geteuid() != 0 {
		t.Skipf("SKIPPED: no FUSE mounts here (%v, user %d)", err, os.Geteuid())
	} else {
		f.Close()
	}
	n := &nodes{t: t, lockfs: filepath.Join(t.TempDir(), "lockfs"), stripe: lockfs.Layout{Size: 1 << 20, Count: 4}}
	if out, err := exec.Command("go", "build", "-o", n.lockfs, "blobio/extra/peers/lockfs/lockfs").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return n
}

// run runs a program in 16 processes on 4 nodes, and returns what they did in the directory dir.
func (n *nodes) run(dir string, env []string, io string, program ...string) *lockfs.Report {
	n.t.Helper()
	report := filepath.Join(n.t.TempDir(), "report.json")
	args := []string{"-dir", dir, "-nodes", strconv.Itoa(nodeNodes), "-ranks", strconv.Itoa(nodeRanks), "-json", report,
		"-stripe-size", fmt.Sprint(n.stripe.Size), "-stripe-count", fmt.Sprint(n.stripe.Count), "--", mpitest.Launcher(n.t)}
	args = append(args, mpitest.Args(mpitest.Launcher(n.t), nodeRanks)...)
	if io != "" {
		args = append(args, "--mca", "io", io)
	}
	args = append(append(args, "{}"), program...)
	if out, err := mpitest.Command(n.t, 2*time.Minute, mpitest.Env(env...), n.lockfs, args...); err != nil {
		n.t.Fatalf("%s: %v\n%s", program, err, out)
	}
	b, err := os.ReadFile(report)
	if err != nil {
		n.t.Fatal(err)
	}
	r := new(lockfs.Report)
	if err := json.Unmarshal(b, r); err != nil {
		n.t.Fatal(err)
	}
	return r
}

// ours writes a job by blobio.
func (n *nodes) ours(j Job, o blob.Options) *lockfs.Report {
	n.t.Helper()
	dir := n.t.TempDir()
	work := filepath.Join(n.t.TempDir(), "work.json")
	b, err := json.Marshal(nodeWork{j, filepath.Join(dir, "x.nc"), o})
	if err == nil {
		err = os.WriteFile(work, b, 0o666)
	}
	if err != nil {
		n.t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		n.t.Fatal(err)
	}
	r := n.run(dir, []string{envOnNodes + "=" + work}, "", self, "-test.run", "^TestWorkOnNodes$")
	for f := range blob.Check(n.t.Context(), filepath.Join(dir, "x.nc"), nil) {
		n.t.Error(f)
	}
	return r
}

// TestWorkOnNodes is a rank.
func TestWorkOnNodes(t *testing.T) {
	b, err := os.ReadFile(os.Getenv(envOnNodes))
	if err != nil {
		t.Skip("a rank of other tests")
	}
	var k nodeWork
	if err := json.Unmarshal(b, &k); err != nil {
		t.Fatal(err)
	}
	task, err := k.Job.load()
	if err != nil {
		t.Fatal(err)
	}
	if err := mpi.Run(t.Context(), &mpi.Options{RanksPerNode: nodeRanks / nodeNodes}, func(ctx context.Context, c comm.Comm) error {
		data, err := task.fill(c.Rank())
		if err != nil {
			return err
		}
		_, err = task.write(ctx, c, data, k.Path, &k.Options)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// theirs writes a job by a peer.
func (n *nodes) theirs(b *toolbox, p Peer, j Job, tune Tuning) *lockfs.Report {
	n.t.Helper()
	if !b.Has(p) {
		n.t.Skipf("SKIPPED: no %s", p.Name)
	}
	task, err := j.load()
	if err != nil {
		n.t.Fatal(err)
	}
	job := filepath.Join(n.t.TempDir(), "job")
	if err := task.writeJobFile(job); err != nil {
		n.t.Fatal(err)
	}
	dir := n.t.TempDir()
	return n.run(dir, []string{"UCX_ERROR_SIGNALS="}, tune.IO, append([]string{filepath.Join(b.dir, p.prog), job, filepath.Join(dir, "theirs")}, tune.Hints...)...)
}

// print logs what a writer did.
func (n *nodes) print(who string, r *lockfs.Report) {
	var b strings.Builder
	if err := r.Print(&b); err != nil {
		n.t.Fatal(err)
	}
	n.t.Logf("%s\n%s", who, b.String())
	f := n.main(r)
	fmt.Fprintf(&n.page, "| %s | %d | %d | %d | %d | %d of %d | %d | %d | %d | %d | %.1f | %.1f |\n", who, r.Total.Writes.Writes, r.Total.Small, r.Total.Unaligned, r.Total.ReadModifyWrites,
		r.SharedUnits, units(r), r.Total.LockMoves, r.MetaCalls, calls(r.Clients[1]), f.Small, 1e3*r.LeastSeconds, 1e3*r.Meta.BusySeconds)
}

// units that were written.
func units(r *lockfs.Report) (n int64) {
	for i := range r.Files {
		n += r.Files[i].Units
	}
	return n
}

// nodesCases are large enough that each node has several units in each flush.
var nodesCases = []Job{
	{Case: "F_h0", Ranks: nodeRanks, Records: 1, Flush: 1},
	{Case: "G", Ranks: nodeRanks, Records: 3, Flush: 1, Maps: MapSource{Cells: 600}},
}

// TestNodesUnderMPI: on four nodes that write one file, with the stripes of the file system as options, no stripe unit is written by two
// nodes, only what lies at the ends of a flush is smaller than a unit, and a node makes at most a tenth of the metadata calls that it
// makes by PnetCDF, all make at most half. Without options each node has a subfile.
func TestNodesUnderMPI(t *testing.T) {
	n := newNodes(t)
	b := toolboxFor(t)
	for _, j := range nodesCases {
		t.Run(j.Case, func(t *testing.T) {
			n.t = t
			fmt.Fprintf(&n.page, "\n## %s, records: %d\n\n| writer | writes | small | unaligned | read-modify-write | units of several nodes | lock moves | metadata calls | of node 1 | small in the largest file | busiest server, ms | metadata server, ms |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n", j.Case, j.Records)
			tuned := Tuning{IO: "romio321", Hints: []string{"romio_cb_write=disable", "romio_ds_write=disable"}}
			pnetcdf := n.theirs(b, pnetCDFBlob, j, tuned)
			n.print("PnetCDF blob, "+tuned.String(), pnetcdf)
			if r := n.main(pnetcdf); r.SharedUnits != r.Units || r.Small != r.Writes.Writes {
				t.Errorf("PnetCDF: %d of %d units shared, %d of %d writes small: is it another version?", r.SharedUnits, r.Units, r.Small, r.Writes.Writes)
			}
			n.print("HDF5 blob, romio321", n.theirs(b, hdf5Blob, j, Tuning{IO: "romio321"}))
			if os.Getenv(envPage) != "" {
				for _, t := range []Tuning{{IO: "ompio"}, {IO: "romio321", Hints: []string{"romio_cb_write=enable"}}} {
					n.print("PnetCDF blob, "+t.String(), n.theirs(b, pnetCDFBlob, j, t))
				}
			}
			for _, l := range []blob.Layout{blob.VariableCentric, blob.ProcessCentric} {
				o := blob.Options{Layout: l, Durability: blob.DurableNone, Retain: blob.LendUntilClose}
				r := n.ours(j, o)
				n.print(fmt.Sprintf("%v, default options", l), r)
				if r.SharedUnits != 0 {
					t.Errorf("%v: %d units are shared", l, r.SharedUnits)
				}
				o.Subfiles, o.Stripe = 1, blob.Stripe{Size: n.stripe.Size, Count: n.stripe.Count}
				r = n.ours(j, o)
				n.print(fmt.Sprintf("%v, one subfile, striped", l), r)
				if r.SharedUnits != 0 {
					t.Errorf("%v, striped: %d units are shared", l, r.SharedUnits)
				}
				// Each flush begins and ends within a unit. Then there are header and length, the metadata of HDF5, and what
				// follows the last record: process-centric there is one flush.
				flushes, others := j.Records, int64(2)
				if l == blob.ProcessCentric {
					flushes, others = 1, 4
				}
				if f := n.main(r); f.Small > 2*flushes+others {
					t.Errorf("%v, striped: %d of %d writes are smaller than a unit, want %d at most", l, f.Small, f.Writes.Writes, 2*flushes+others)
				}
				// A process that writes opens and closes the file: one process of a node if variable-centric, each if process-centric. Only world rank 0
				// deals with names, and with the heartbeat of a long run.
				share := map[blob.Layout]int64{blob.VariableCentric: 10, blob.ProcessCentric: 2}[l]
				for i := range r.Clients {
					if ours, theirs := calls(r.Clients[i]), calls(pnetcdf.Clients[i]); i > 0 && share*ours > theirs {
						t.Errorf("%v, node %d: %d metadata calls, PnetCDF %d", l, i, ours, theirs)
					}
				}
				if l == blob.VariableCentric && 2*r.MetaCalls > pnetcdf.MetaCalls {
					t.Errorf("%v: %d metadata calls, PnetCDF %d", l, r.MetaCalls, pnetcdf.MetaCalls)
				}
			}
		})
	}
	if page := os.Getenv(envPage); page != "" {
		if err := os.WriteFile(page, []byte(n.page.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// main is the largest file.
func (n *nodes) main(r *lockfs.Report) lockfs.FileCounts {
	return slices.MaxFunc(r.Files, func(a, b lockfs.FileCounts) int { return cmp.Compare(a.Bytes, b.Bytes) })
}

// calls are a node's metadata calls.
func calls(c lockfs.ClientCounts) (n int64) {
	for _, k := range c.Metadata {
		n += k
	}
	return n
}
