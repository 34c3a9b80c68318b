package bench

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// peerSource is what the peers are built from, wherever the binary is.
//
//go:embed peers/*.c peers/*.h peers/Makefile
var peerSource embed.FS

// A Peer is a program that writes a job through another library.
type Peer struct {
	Name string // in tables
	prog string // of peers
}

// The peers, in the order of tables.
var (
	pnetCDFBlob      = Peer{"PnetCDF blob", "pnetcdf_blob"}
	hdf5Blob         = Peer{"HDF5 blob", "hdf5_blob"}
	pnetCDFCanonical = Peer{"PnetCDF canonical", "pnetcdf_canonical"}
	netcdf4Canonical = Peer{"netCDF-4 canonical", "netcdf4_canonical"}

	allPeers = []Peer{pnetCDFBlob, hdf5Blob, pnetCDFCanonical, netcdf4Canonical}
)

// toolbox is what peers and processes are started with.
type toolbox struct {
	dir    string
	mpirun string
	have   map[string]bool // programs of dir
	MPI    string          // version
}

// errNoPeers says that the peers cannot be built or started here.
var errNoPeers = errors.New("no peers here; internal/bench/peers/install-debian installs what they need")

// either returns the first of the programs that is there.
func either(names ...string) string {
	for _, n := range names {
		if p, err := exec.LookPath(n); err == nil {
			return p
		}
	}
	return ""
}

// findMPI looks for Open MPI. The other MPIs have other options.
func findMPI(ctx context.Context) (*toolbox, error) {
	b := &toolbox{mpirun: either("mpirun.openmpi", "mpirun"), have: map[string]bool{}}
	if b.mpirun == "" {
		return nil, fmt.Errorf("%w: no mpirun", errNoPeers)
	}
	out, err := exec.CommandContext(ctx, b.mpirun, "--version").Output()
	if err != nil {
		return nil, err
	}
	b.MPI, _, _ = strings.Cut(string(out), "\n")
	b.MPI = strings.NewReplacer("mpirun.openmpi (", "", "mpirun (", "", ")", "").Replace(b.MPI)
	b.MPI = strings.Replace(b.MPI, "OpenRTE", "Open MPI", 1)
	if !strings.Contains(b.MPI, "Open MPI") {
		return nil, fmt.Errorf("%w: %s is not Open MPI", errNoPeers, b.mpirun)
	}
	return b, nil
}

// BuildPeers builds the peers in a directory. What a library is missing for is left out.
func (b *toolbox) BuildPeers(ctx context.Context, dir string) error {
	mpicc, make := either("mpicc.openmpi", "mpicc"), either("make", "gmake")
	if mpicc == "" || make == "" || either("pkg-config", "pkgconf") == "" {
		return fmt.Errorf("%w: want mpicc, make and pkg-config", errNoPeers)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	src, err := fs.Sub(peerSource, "peers")
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(dir, "src")); err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(dir, "src"), src); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, make, "-s", "-k", "OUT="+dir, "MPICC="+mpicc)
	cmd.Dir = filepath.Join(dir, "src")
	out, err := cmd.CombinedOutput()
	b.dir = dir
	for _, p := range append([]Peer{realRedset}, allPeers...) {
		if _, serr := os.Stat(filepath.Join(dir, p.prog)); serr == nil {
			b.have[p.prog] = true
		}
	}
	if len(b.have) == 0 {
		if err == nil {
			err = errors.New("pkg-config finds none of the libraries")
		}
		return fmt.Errorf("%w: %w: %s", errNoPeers, err, lastLine(out))
	}
	return nil
}

// Has tells whether the peer was built.
func (b *toolbox) Has(p Peer) bool { return b != nil && b.have[p.prog] }

// Tuning is how a peer is run: the MPI-IO of Open MPI, and hints.
type Tuning struct {
	IO    string   `json:"io"` // ompio, romio321; "": Open MPI's choice
	Hints []string `json:"hints,omitempty"`
}

func (t Tuning) String() string { return strings.Join(append([]string{t.IO}, t.Hints...), " ") }

// tunings are tried, and the best is held against blobio. The first is what runs in a quick test.
var tunings = []Tuning{
	{IO: "ompio"},
	{IO: "romio321"},
	{IO: "romio321", Hints: []string{"romio_ds_write=disable"}},
	{IO: "romio321", Hints: []string{"romio_cb_write=disable", "romio_ds_write=disable"}},
	{IO: "ompio", Hints: []string{"nc_in_place_swap=enable"}},
	{IO: "romio321", Hints: []string{"romio_cb_write=enable", "cb_nodes=1"}},
}

// run starts n processes and returns what they print. Processes are not
// bound to cores: one process of blobio uses all of them, and the others lose nothing.
func (b *toolbox) run(ctx context.Context, n int, io string, args ...string) ([]byte, error) {
	a := []string{"--oversubscribe", "--bind-to", "none", "-n", strconv.Itoa(n)}
	if io != "" {
		a = append(a, "--mca", "io", io)
	}
	cmd := exec.CommandContext(ctx, b.mpirun, append(a, args...)...)
	// Without these a run by root, as in a container, is refused.
	cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "UCX_ERROR_SIGNALS=")
	return output(ctx, cmd)
}

// output runs a program that prints its result. An interrupt is passed on, so that it can clean up.
func output(ctx context.Context, cmd *exec.Cmd) ([]byte, error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, pkg.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, lastLine(append(errs.Bytes(), out.Bytes()...)))
	}
	return out.Bytes(), nil
}

// peerError is how a peer of ours says what failed.
var peerError = regexp.MustCompile(`^\w+\.[ch]:\d+: `)

// lastLine is the line in the output of a program that says what failed, or the last one.
func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, l := range lines {
		if peerError.MatchString(l) {
			return l
		}
	}
	for _, l := range lines {
		if strings.Contains(l, "rror") || strings.HasPrefix(l, "blobio:") {
			return strings.TrimSpace(l)
		}
	}
	return lines[len(lines)-1]
}

// decodeTook finds the one line of JSON in what a worker or a peer prints.
func decodeTook(out []byte) (Took, error) {
	var t Took
	i := bytes.IndexByte(out, '{')
	if i < 0 {
		return t, pkg.Errorf("no result in %q", lastLine(out))
	}
	if err := json.NewDecoder(bytes.NewReader(out[i:])).Decode(&t); err != nil {
		return t, pkg.Errorf("result of a worker: %w", err)
	}
	return t, nil
}

// RunPeer runs a peer once; job is a job file for as many ranks.
func (b *toolbox) RunPeer(ctx context.Context, p Peer, ranks int, tune Tuning, job, path string) (Took, error) {
	out, err := b.run(ctx, ranks, tune.IO, append([]string{filepath.Join(b.dir, p.prog), job, path}, tune.Hints...)...)
	if err != nil {
		return Took{}, err
	}
	t, err := decodeTook(out)
	if err != nil {
		return t, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return t, err
	}
	t.Bytes = info.Size()
	return t, nil
}

var endToEnd = regexp.MustCompile(`(?m)^\s*end-to-end time\s+min/max =\s*[0-9.]+\s*/\s*([0-9.]+)`)

// RunReal runs the real E3SM-IO on the job, whose maps must be one captured file.
func (b *toolbox) RunReal(ctx context.Context, prog string, p Peer, j *Job, tune Tuning, path string) (Took, error) {
	args, err := realArgs(p, j, path)
	if err != nil {
		return Took{}, err
	}
	out, err := b.run(ctx, j.Ranks, tune.IO, append([]string{prog}, args...)...)
	if err != nil {
		return Took{}, err
	}
	return parseReal(out)
}

func realArgs(p Peer, j *Job, path string) ([]string, error) {
	if len(j.Maps.Files) != 1 || strings.HasSuffix(j.Maps.Files[0], ".dat") {
		return nil, pkg.Errorf("the real program wants one captured map file: %w", errSkip)
	}
	api, strategy, _ := strings.Cut(p.prog, "_")
	args := []string{"-a", api, "-x", strategy, "-r", strconv.FormatInt(j.Records, 10), "-y", strconv.FormatInt(j.Flush, 10), "-o", path}
	if _, h, ok := strings.Cut(j.Case, "_h"); ok {
		args = append(args, "-f", h)
	}
	if j.Float {
		args = append(args, "-j")
	}
	if j.Maps.Factor > 1 {
		args = append(args, "-e", strconv.FormatInt(j.Maps.Factor, 10))
	}
	if j.Maps.Slice == "fillers" {
		args = append(args, "-u")
	}
	return append(args, j.Maps.Files[0]), nil
}

// parseReal takes the time from open to close of the slowest rank.
func parseReal(out []byte) (Took, error) {
	m := endToEnd.FindAllSubmatch(out, -1)
	if len(m) == 0 {
		return Took{}, pkg.Errorf("the real program prints no end-to-end time: %s", lastLine(out))
	}
	t := Took{Library: "E3SM-IO"}
	for _, k := range m {
		s, err := strconv.ParseFloat(string(k[1]), 64)
		if err != nil {
			return t, err
		}
		t.Seconds += s
	}
	if t.Seconds <= 0 {
		return t, pkg.Errorf("the real program prints an end-to-end time of %g s", t.Seconds)
	}
	return t, nil
}
