package config

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
)

// NoJob is the allocation ID that is used if no resource manager gives one.
const NoJob = "defjobid"

// Prefix returns the absolute prefix directory: SCR_PREFIX, or else the working directory.
func (s *Set) Prefix() string {
	p := s.Get("SCR_PREFIX")
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(s.dir, p)
}

// Job identifies the allocation and its user. Both are parts of the paths of the directories on the nodes.
type Job struct {
	User    string // SCR_USER_NAME, else the user in the environment, else "nobody"
	ID      string // SCR_JOB_ID, else the ID from the resource manager, else NoJob
	Control string // the control directory, <SCR_CNTL_BASE>/<user>/scr.<allocation>
}

// JobOf returns the job of the settings. If the user or the allocation is not a valid directory name, the error is a
// *ValueError.
func JobOf(s *Set) (j Job, err error) {
	user, uerr := component(s, "nobody", "SCR_USER_NAME", "USER", "LOGNAME", "USERNAME")
	id, ierr := component(s, NoJob, "SCR_JOB_ID", "SLURM_JOBID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID")
	if err := errors.Join(uerr, ierr); err != nil {
		return Job{}, err
	}
	j = Job{User: user, ID: id}
	j.Control = j.CacheDir(s.Get("SCR_CNTL_BASE"))
	return j, nil
}

// CacheDir returns the cache directory of a store: <store>/<user>/scr.<allocation>.
func (j Job) CacheDir(store string) string { return filepath.Join(store, j.User, "scr."+j.ID) }

// component returns the value of the first of these parameters that is set, or none. The value must be a valid directory
// name.
func component(s *Set, none string, names ...string) (string, error) {
	for _, name := range names {
		v := s.Lookup(name)
		switch {
		case v.Text == "":
		case v.Text == "." || v.Text == ".." || strings.ContainsAny(v.Text, "/\\\x00"):
			return "", &ValueError{name, v.Text, v.Origin, "a valid directory name"}
		default:
			return v.Text, nil
		}
	}
	return none, nil
}

// Unlimited is the number of runs that a negative SCR_RUNS stands for.
const Unlimited = math.MaxInt32

// Runs returns the maximum number of runs in an allocation, at least 1. It is SCR_RUNS, or Unlimited if SCR_RUNS is
// negative, or SCR_RETRIES + 1 if SCR_RUNS is not set.
func Runs(s *Set) (int64, error) {
	if !s.IsSet("SCR_RUNS") && s.IsSet("SCR_RETRIES") {
		n, err := s.Int("SCR_RETRIES")
		return max(n, 0) + 1, err
	}
	n, err := s.Int("SCR_RUNS")
	if n < 0 {
		return Unlimited, err
	}
	return max(n, 1), err
}
