package config

import (
	"math"
	"path/filepath"
	"strings"
)

// NoJob is the allocation where nothing names one.
const NoJob = "defjobid"

// Prefix is the prefix directory, absolute: SCR_PREFIX, else the working
// directory.
func (s *Set) Prefix() string {
	p := s.Get("SCR_PREFIX")
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(s.dir, p)
}

// JobID names the allocation: SCR_JOB_ID, else what the resource manager says,
// else NoJob. It becomes the name of a directory: the error says that it cannot.
func (s *Set) JobID() (string, error) {
	return s.component(NoJob, "SCR_JOB_ID", "SLURM_JOBID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID")
}

// User is SCR_USER_NAME, else the user of the environment, else "nobody". It
// becomes the name of a directory: the error says that it cannot.
func (s *Set) User() (string, error) {
	return s.component("nobody", "SCR_USER_NAME", "USER", "LOGNAME", "USERNAME")
}

func (s *Set) component(none string, names ...string) (string, error) {
	for _, name := range names {
		v := s.Lookup(name)
		switch {
		case v.Text == "":
		case v.Text == "." || v.Text == ".." || strings.ContainsAny(v.Text, "/\\\x00"):
			return "", &ValueError{name, v.Text, v.Origin, "a name that can be that of a directory"}
		default:
			return v.Text, nil
		}
	}
	return none, nil
}

// ControlDir is the control directory, <SCR_CNTL_BASE>/<user>/scr.<allocation>.
func (s *Set) ControlDir() (string, error) { return s.jobDir(s.Get("SCR_CNTL_BASE")) }

// CacheDir is the cache directory of a store: <store>/<user>/scr.<allocation>.
func (s *Set) CacheDir(store string) (string, error) { return s.jobDir(store) }

func (s *Set) jobDir(base string) (string, error) {
	user, err := s.User()
	if err != nil {
		return "", err
	}
	job, err := s.JobID()
	if err != nil {
		return "", err
	}
	return filepath.Join(base, user, "scr."+job), nil
}

// Unlimited is the number of runs where SCR_RUNS is negative.
const Unlimited = math.MaxInt32

// Runs is how many runs one allocation may have, at least 1: SCR_RUNS, which is Unlimited if it is negative, else
// SCR_RETRIES and 1.
func (s *Set) Runs() (int64, error) {
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
