// Package launcher finds out from the environment whether a launcher of parallel programs (mpirun, mpiexec, srun) started this
// process, and whether the launcher started several processes.
package launcher

import (
	"fmt"
	"os"
	"strconv"
)

// Variable overrides everything else: 0 means that this process is alone. Any other value means that this process is part of an
// MPI program.
const Variable = "BLOBIO_MPI"

// MPI reports whether a launcher of MPI programs started this process.
func MPI() bool {
	if v := os.Getenv(Variable); v != "" {
		return v != "0"
	}
	for _, name := range []string{"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_FD", "MV2_COMM_WORLD_SIZE", "MPI_LOCALNRANKS"} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
}

// Several returns "" if the environment shows only this process. Otherwise it returns a text that names the variable from which
// the other processes are known.
func Several() string {
	if os.Getenv(Variable) == "0" {
		return ""
	}
	// Slurm is last: an MPI launcher inside a Slurm step may have started this process.
	sizes := []string{"OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}
	if _, ok := number("SLURM_STEP_ID"); ok { // a batch script has the number of tasks, too, but is one process outside of a step
		sizes = append(sizes, "SLURM_NTASKS")
	}
	for _, name := range sizes {
		if n, ok := number(name); ok && n > 0 {
			if n == 1 {
				return ""
			}
			return fmt.Sprintf("one of %d processes (%s=%d)", n, name, n)
		}
	}
	for _, name := range []string{"PMIX_RANK", "PMI_RANK", "PALS_RANKID", "FLUX_TASK_RANK", "SLURM_PROCID"} {
		if n, ok := number(name); ok && n > 0 { // with 0 the process may be alone
			return fmt.Sprintf("one of several processes (%s=%d)", name, n)
		}
	}
	return ""
}

// number returns the value of a variable if it is a count. Slurm has larger numbers for special steps.
func number(name string) (int64, bool) {
	n, err := strconv.ParseInt(os.Getenv(name), 10, 32)
	return n, err == nil && n >= 0
}

// Job returns the batch system's job number of this process, or "".
func Job() string {
	for _, name := range []string{"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID", "FLUX_JOB_ID", "PJM_JOBID", "COBALT_JOBID"} {
		if v := os.Getenv(name); v != "" {
			return v[:min(len(v), 256)]
		}
	}
	return ""
}
