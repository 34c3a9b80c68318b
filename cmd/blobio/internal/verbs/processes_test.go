package verbs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/base/launcher"
	"blobio/internal/cli"
)

// TestOneOfSeveral checks that a binary without MPI refuses to write if a launcher has started several processes. It may
// read.
func TestOneOfSeveral(t *testing.T) {
	_, canon, variable, _ := clitest.Toys(t)
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	maps := filepath.Join(t.TempDir(), "f.nc")
	clitest.Good(t, "decomp", "gen", "F", maps, "--ne", "1", "--lev", "2", "--ranks", "2")
	clear := func(t *testing.T) {
		for _, name := range []string{launcher.Variable, "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK", "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_PROCID"} {
			t.Setenv(name, "")
		}
	}
	writers := []string{
		"replay --ne 1 --lev 2 --ranks 2 --no-sync -o " + out,
		"convert " + variable + " " + out,
		"decomp gen F " + out + ".nc --ne 1 --lev 2 --ranks 2",
		"decomp convert " + maps + " " + out + ".h5",
		"decomp plot " + maps + " -o " + out + ".svg",
		"amr gen uniform " + out,
	}
	for env, sign := range map[string]string{
		"OMPI_COMM_WORLD_SIZE=4":              "one of 4 processes (OMPI_COMM_WORLD_SIZE=4)",
		"PMI_SIZE=2 PMI_RANK=1":               "one of 2 processes (PMI_SIZE=2)",
		"PMIX_RANK=1":                         "one of several processes (PMIX_RANK=1)",
		"SLURM_STEP_ID=0 SLURM_NTASKS=3":      "one of 3 processes (SLURM_NTASKS=3)",
		"SLURM_NTASKS=3 SLURM_PROCID=2":       "one of several processes (SLURM_PROCID=2)",
		"BLOBIO_MPI=0 SLURM_STEP_NUM_TASKS=2": "", // BLOBIO_MPI=0: each process shall work alone
		"SLURM_NTASKS=3 SLURM_PROCID=0":       "", // the batch script of a job is a single process
	} {
		t.Run(env, func(t *testing.T) {
			clear(t)
			for kv := range strings.FieldsSeq(env) {
				name, value, _ := strings.Cut(kv, "=")
				t.Setenv(name, value)
			}
			if sign == "" {
				clitest.Good(t, "convert", variable, out)
				clitest.Check(t, os.Remove(out))
				return
			}
			for _, args := range writers {
				clitest.Bad(t, cli.Failed, sign, strings.Fields(args)...)
			}
			clitest.Bad(t, cli.Failed, "set BLOBIO_MPI=0 if each process should work alone", strings.Fields(writers[0])...)
			clitest.Good(t, "ls", variable)
			clitest.Good(t, "check", canon)
			clitest.Good(t, "replay", "--help")
			if got := clitest.Names(t, dir); got != "" {
				t.Errorf("there is %s", got)
			}
		})
	}
}
