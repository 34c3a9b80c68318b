package launcher

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// alone clears the variables of a launcher that may run the tests.
func alone(t *testing.T) {
	t.Helper()
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if slices.ContainsFunc([]string{Variable, "OMPI_", "MV2_", "PMI", "MPI_", "SLURM_", "PALS_", "FLUX_"}, func(p string) bool { return strings.HasPrefix(name, p) }) {
			t.Setenv(name, "")
		}
	}
}

func TestSeveral(t *testing.T) {
	for _, c := range []struct{ env, want string }{
		{"", ""},
		{"OMPI_COMM_WORLD_SIZE=4", "one of 4 processes (OMPI_COMM_WORLD_SIZE=4)"},
		{"OMPI_COMM_WORLD_SIZE=1", ""},
		{"PMI_SIZE=2 PMI_RANK=0", "one of 2 processes (PMI_SIZE=2)"},
		{"PMI_SIZE=1 PMI_RANK=0", ""},
		{"MV2_COMM_WORLD_SIZE=8", "one of 8 processes (MV2_COMM_WORLD_SIZE=8)"},
		{"PMIX_RANK=3", "one of several processes (PMIX_RANK=3)"},
		{"PMIX_RANK=0", ""},
		{"SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 SLURM_NTASKS=4 SLURM_PROCID=0", "one of 4 processes (SLURM_STEP_NUM_TASKS=4)"},
		{"SLURM_STEP_ID=0 SLURM_NTASKS=4 SLURM_PROCID=0", "one of 4 processes (SLURM_NTASKS=4)"},
		{"SLURM_NTASKS=4 SLURM_PROCID=2", "one of several processes (SLURM_PROCID=2)"},
		{"SLURM_NTASKS=4 SLURM_PROCID=0", ""}, // a batch script
		{"SLURM_STEP_ID=4294967291 SLURM_NTASKS=4 SLURM_PROCID=0", ""},
		{"SLURM_STEP_ID=1 SLURM_STEP_NUM_TASKS=1 SLURM_NTASKS=1 SLURM_PROCID=0", ""},
		{"SLURM_STEP_ID=1 SLURM_STEP_NUM_TASKS=4 OMPI_COMM_WORLD_SIZE=1", ""},
		{"OMPI_COMM_WORLD_SIZE=many", ""},
		{"OMPI_COMM_WORLD_SIZE=4 BLOBIO_MPI=0", ""},
		{"OMPI_COMM_WORLD_SIZE=4 BLOBIO_MPI=1", "one of 4 processes (OMPI_COMM_WORLD_SIZE=4)"},
	} {
		t.Run(c.env, func(t *testing.T) {
			alone(t)
			for kv := range strings.FieldsSeq(c.env) {
				name, value, _ := strings.Cut(kv, "=")
				t.Setenv(name, value)
			}
			if got := Several(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestMPI(t *testing.T) {
	alone(t)
	if MPI() {
		t.Error("nothing is set")
	}
	t.Setenv("PMIX_RANK", "0")
	if !MPI() {
		t.Error("PMIX_RANK is set")
	}
	t.Setenv(Variable, "0")
	if MPI() {
		t.Error("BLOBIO_MPI=0 has the last word")
	}
}
