package runloop

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// selftestDir is the variable that tells the ranks of a selftest its directory.
const selftestDir = "BLOBIO_SELFTEST_DIR"

// selftestStep is what the checkpoint of a selftest holds.
const selftestStep = 42

// SelftestRank is one process of the program of a selftest: in the first run it
// saves a checkpoint on its node, and a copy on the next one, and goes on until
// it is ended; in a later run it restarts from what is left. Without private
// directories of nodes, the checkpoint is in the directory that all see.
func SelftestRank(ctx context.Context) error {
	dir := os.Getenv(selftestDir)
	rank, err := ownRank(os.LookupEnv)
	if dir == "" || err != nil {
		return pkg.Errorf("this is started by a selftest only: %v", err)
	}
	run, err := strconv.Atoi(os.Getenv("BLOBIO_RUN"))
	if err != nil {
		return pkg.Errorf("BLOBIO_RUN: %w", err)
	}
	nodes := strings.Split(os.Getenv("BLOBIO_RUN_NODES"), ",")
	places := []string{dir}
	if own := os.Getenv("BLOBIO_NODE_DIR"); own != "" { // then those of the others, from the next one on
		places = nil
		for i := range nodes {
			places = append(places, filepath.Join(filepath.Dir(own), nodes[(rank+i)%len(nodes)]))
		}
	}
	name := fmt.Sprintf("selftest.ckpt.%d", rank)
	if run > 1 {
		return os.WriteFile(reportName(dir, run, rank), []byte(restart(places, name)), 0o644)
	}
	for _, p := range places[:min(2, len(places))] {
		if err := os.WriteFile(filepath.Join(p, name), []byte(strconv.Itoa(selftestStep)), 0o644); err != nil {
			return err
		}
	}
	if err := os.WriteFile(reportName(dir, run, rank), []byte("saved"), 0o644); err != nil {
		return err
	}
	for { // until it is ended; when nobody wants it any more, by itself
		if err := (SystemClock{}).Wait(ctx, 100*time.Millisecond); err != nil {
			return err
		}
		if _, err := os.Stat(dir); err != nil {
			return err
		}
	}
}

// restart looks for the checkpoint and says what it found.
func restart(places []string, name string) string {
	for i, p := range places {
		b, err := os.ReadFile(filepath.Join(p, name))
		if err != nil {
			continue
		}
		if string(b) != strconv.Itoa(selftestStep) {
			return fmt.Sprintf("the checkpoint holds %q", b)
		}
		if i == 0 {
			return "restart from its own node"
		}
		return "restart from the copy on " + filepath.Base(p)
	}
	return "no checkpoint is left"
}

// ownRank asks what launchers tell their processes.
func ownRank(env func(string) (string, bool)) (int, error) {
	for _, name := range []string{"BLOBIO_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"} {
		if v, ok := env(name); ok {
			n, err := strconv.Atoi(v)
			if err != nil || n < 0 {
				return 0, fmt.Errorf("%s=%q, want a rank", name, v)
			}
			return n, nil
		}
	}
	return 0, fmt.Errorf("no variable tells the rank")
}
