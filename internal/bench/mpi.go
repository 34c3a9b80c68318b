package bench

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// FindMPI returns the words that start a worker under mpirun, for Options.MPI: of the program bin, if it is given, else of this one if it was
// built for that, or of a blobio-mpi beside it or in the PATH. In a checkout with Go one is built in the directory dir. It returns nil
// if there is none.
func FindMPI(ctx context.Context, bin, dir string) ([]string, error) {
	command := func(path string) ([]string, error) {
		abs, err := filepath.Abs(path)
		return []string{abs, "bench", "worker"}, err
	}
	exe, _ := os.Executable()
	switch {
	case bin != "":
		path, err := exec.LookPath(bin)
		if err != nil {
			return nil, err
		}
		return command(path)
	case builtWithMPI() && !strings.HasSuffix(exe, ".test"):
		return command(exe)
	}
	if path := filepath.Join(filepath.Dir(exe), "blobio-mpi"); exe != "" {
		if _, err := os.Stat(path); err == nil {
			return command(path)
		}
	}
	if path, err := exec.LookPath("blobio-mpi"); err == nil {
		return command(path)
	}
	out, err := exec.CommandContext(ctx, "go", "list", "-m").Output()
	if err != nil || strings.TrimSpace(string(out)) != "blobio" {
		return nil, nil // the workload says that it is missing
	}
	path := filepath.Join(dir, "blobio-mpi")
	build := exec.CommandContext(ctx, "go", "build", "-tags", "mpi", "-o", path, "blobio/cmd/blobio")
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	if _, err := build.CombinedOutput(); err != nil {
		return nil, ctx.Err() // no MPI here
	}
	return command(path)
}

func builtWithMPI() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	tags, cgo := "", false
	for _, s := range info.Settings {
		switch s.Key {
		case "-tags":
			tags = s.Value
		case "CGO_ENABLED":
			cgo = s.Value == "1"
		}
	}
	return cgo && slices.Contains(strings.Split(tags, ","), "mpi")
}
