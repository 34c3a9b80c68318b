package main

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

// peerSource is the source of the peers, independent of the place of the binary.
//
//go:embed src/*.c src/*.h src/Makefile
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
	adios2Blob       = Peer{"ADIOS2 BP5", "adios2_blob"}
	rawProcesses     = Peer{"raw write", "raw_write"} // no library at all
	sumProcesses     = Peer{"swap, sum and write", "raw_write"}

	allPeers = []Peer{pnetCDFBlob, hdf5Blob, pnetCDFCanonical, netcdf4Canonical, adios2Blob, rawProcesses, sumProcesses}
)

// plain reports whether the peer writes no format.
func (p Peer) plain() bool { return p.prog == rawProcesses.prog }

// toolbox holds the programs that start peers and processes.
type toolbox struct {
	dir    string
	mpirun string
	romio  string          // this MPI's name of ROMIO
	have   map[string]bool // programs of dir
	MPI    string          // version
}

// errNoPeers means that the peers cannot be built or started here.
var errNoPeers = errors.New("no peers here; src/install-debian installs what they need")

// either returns the first installed one of the programs.
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
	b.romio = "romio321"
	if strings.Contains(b.MPI, "Open MPI 5") {
		b.romio = "romio341"
	}
	return b, nil
}

// BuildPeers builds the peers in a directory. It leaves out peers whose library is missing.
func (b *toolbox) BuildPeers(ctx context.Context, dir string) error {
	mpicc, make := either("mpicc.openmpi", "mpicc"), either("make", "gmake")
	if mpicc == "" || make == "" || either("pkg-config", "pkgconf") == "" {
		return fmt.Errorf("%w: want mpicc, make and pkg-config", errNoPeers)
	}
	dir, err := filepath.Abs(dir) // make runs elsewhere
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	src, err := fs.Sub(peerSource, "src")
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
	for _, p := range append([]Peer{realRedset, realSCR}, allPeers...) {
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

// Has reports whether the peer was built.
func (b *toolbox) Has(p Peer) bool { return b != nil && b.have[p.prog] }

// run starts n processes and returns their output. Processes are not
// bound to cores: one process of blobio uses all of them, and the others lose nothing.
func (b *toolbox) run(ctx context.Context, n int, io string, env []string, args ...string) ([]byte, error) {
	a := []string{"--oversubscribe", "--bind-to", "none", "-n", strconv.Itoa(n)}
	if io != "" {
		a = append(a, "--mca", "io", io)
	}
	cmd := exec.CommandContext(ctx, b.mpirun, append(a, args...)...)
	// Without these a run by root, as in a container, is refused.
	cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "UCX_ERROR_SIGNALS=")
	cmd.Env = append(cmd.Env, env...)
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
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, lastLine(append(errs.Bytes(), out.Bytes()...)))
	}
	return out.Bytes(), nil
}

// peerError is the form of the peers' error messages.
var peerError = regexp.MustCompile(`^\w+\.[ch]:\d+: `)

// lastLine returns the error message in the output of a program, or the last line.
func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, l := range lines {
		if peerError.MatchString(l) {
			return l
		}
	}
	for _, l := range lines {
		if strings.Contains(l, "rror") || strings.HasPrefix(l, "peers:") {
			return strings.TrimSpace(l)
		}
	}
	return lines[len(lines)-1]
}

// decodeTook finds the line of JSON in the output of a worker or a peer.
func decodeTook(out []byte) (Took, error) {
	var t Took
	i := bytes.IndexByte(out, '{')
	if i < 0 {
		return t, fmt.Errorf("no result in %q", lastLine(out))
	}
	if err := json.NewDecoder(bytes.NewReader(out[i:])).Decode(&t); err != nil {
		return t, fmt.Errorf("result of a worker: %w", err)
	}
	return t, nil
}

// RunPeer runs a peer once; job is a job file for as many ranks.
func (b *toolbox) RunPeer(ctx context.Context, p Peer, ranks int, tune Tuning, job, path string) (Took, error) {
	out, err := b.run(ctx, ranks, tune.IO, nil, append([]string{filepath.Join(b.dir, p.prog), job, path}, tune.Hints...)...)
	if err != nil {
		return Took{}, err
	}
	t, err := decodeTook(out)
	if err != nil {
		return t, err
	}
	t.Bytes, err = bytesBelow(path)
	return t, err
}

// bytesBelow is the size of a file, or of all files of a directory.
func bytesBelow(path string) (n int64, err error) {
	return n, filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
}
