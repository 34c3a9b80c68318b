package config

import (
	"os"
	"runtime"
	"slices"
)

// Kind is the type of a parameter's value.
type Kind int

// The kinds.
const (
	kindText    Kind = iota // any text
	kindPath                // path of a directory or file
	kindFlag                // 0 or not 0
	kindInteger             // decimal, at least 0
	kindNumber              // decimal fraction, at least 0
	kindSize                // bytes, with an optional unit
	kindTime                // seconds since 1970
	kindChoice              // one of Param.Choices, in upper or lower case
)

var kindNames = [...]string{"text", "path", "flag", "integer", "number", "size", "time", "choice"}

// String names the kind.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return "unknown"
	}
	return kindNames[k]
}

// Param describes a parameter.
type Param struct {
	Name    string
	Default string // "" if there is none
	Kind    Kind
	Choices []string // for kindChoice, upper case
	// Gen lists the generations of SCR that know the parameter: A (2011 to 2013), B (1.1.8 to 2.0) and C (3.x). It is "own" if
	// only this library knows the parameter.
	Gen       string
	Negative  bool // for kindInteger and kindNumber: negative values are allowed and mean no limit
	NoUser    bool // neither environment nor user file may set it
	NoProgram bool // the program may not set it
	Help      string
}

// params is the table of all parameters except descriptors. Defaults are those in the code of SCR 3, unless the text gives another
// source. The table follows the sections "Configuration parameters" and "Logging" of the developer guide, and the parameters that
// the programs of each generation read.
var params = [...]Param{
	{Name: "SCR_ENABLE", Default: "1", Kind: kindFlag, Gen: "ABC", Help: "0: the program runs without checkpoints"},
	{Name: "SCR_DEBUG", Default: "0", Kind: kindInteger, Gen: "ABC", Help: "verbosity, 0 to 2; without effect here, because the program's logger determines it"},
	{Name: "SCR_CONF_FILE", Kind: kindPath, Gen: "ABC", NoProgram: true, Help: "the user file, default <prefix>/.scrconf. Environment only"},
	{Name: "SCR_RESTRICTED", Kind: kindText, Gen: "own", NoUser: true, NoProgram: true, Help: "names, separated by commas, that the user may not set. System file only"},

	{Name: "SCR_PREFIX", Kind: kindPath, Gen: "ABC", Help: "prefix directory, on the parallel file system; default: the working directory"},
	{Name: "SCR_CNTL_BASE", Default: linuxBase, Kind: kindPath, Gen: "ABC", NoProgram: true, Help: "base of the control directories, local to the node (in A: /tmp, and the user may not set it)"},
	{Name: "SCR_CACHE_BASE", Default: linuxBase, Kind: kindPath, Gen: "ABC", NoProgram: true, Help: "base of the cache directories (in A: /tmp)"},
	{Name: "SCR_CACHE_SIZE", Default: "1", Kind: kindInteger, Gen: "ABC", NoProgram: true, Help: "number of datasets kept in each store"},
	{Name: "SCR_CACHE_BYPASS", Default: "1", Kind: kindFlag, Gen: "C", Help: "1: files are written directly to the prefix directory, and the cache holds only metadata"},
	{Name: "SCR_CACHE_PURGE", Default: "0", Kind: kindFlag, Gen: "C", Help: "1: delete all cached datasets at the start"},
	{Name: "SCR_PREFIX_PURGE", Default: "0", Kind: kindFlag, Gen: "C", Help: "1: delete all datasets of the prefix directory at the start"},
	{Name: "SCR_PREFIX_SIZE", Default: "0", Kind: kindInteger, Gen: "C", Help: "number of checkpoints kept in the prefix directory, 0: all; output is never deleted"},

	{Name: "SCR_COPY_TYPE", Default: "XOR", Kind: kindChoice, Choices: []string{"SINGLE", "PARTNER", "XOR", "RS", "FILE"}, Gen: "ABC", Help: "redundancy scheme (RS only in C); FILE: the CKPT lines determine the scheme"},
	{Name: "SCR_GROUP", Default: "NODE", Kind: kindText, Gen: "ABC", Help: "failure group: ranks that are lost together"},
	{Name: "SCR_SET_SIZE", Default: "8", Kind: kindInteger, Gen: "ABC", Help: "minimum number of ranks in a redundancy set"},
	{Name: "SCR_SET_FAILURES", Default: "2", Kind: kindInteger, Gen: "C", Help: "number of lost ranks that an RS set survives"},
	{Name: "SCR_HOP_DISTANCE", Default: "1", Kind: kindInteger, Gen: "A", Help: "distance between the members of a set; without effect here"},
	{Name: "SCR_COPY_METADATA", Default: "1", Kind: kindFlag, Gen: "C", Help: "1: keep mode, owner and times of files that are copied or rebuilt"},
	{Name: "SCR_AXL_MKDIR", Default: "0", Kind: kindFlag, Gen: "C", Help: "1: transfers create missing directories; without effect here, because they always do"},

	{Name: "SCR_DISTRIBUTE", Default: "1", Kind: kindFlag, Gen: "ABC", Help: "0 drops the cache at the start"},
	{Name: "SCR_FETCH", Default: "1", Kind: kindFlag, Gen: "ABC", Help: "0: do not fetch from the prefix directory"},
	{Name: "SCR_FETCH_WIDTH", Default: "256", Kind: kindInteger, Gen: "ABC", Help: "maximum number of ranks that read from the prefix directory at the same time"},
	{Name: "SCR_FETCH_BYPASS", Default: "0", Kind: kindFlag, Gen: "C", Help: "1: read from the prefix directory in place, without the cache"},
	{Name: "SCR_CURRENT", Kind: kindText, Gen: "C", Help: "name of the checkpoint to fetch for a restart, unless the caches have a newer one"},
	{Name: "SCR_GLOBAL_RESTART", Default: "0", Kind: kindFlag, Gen: "ABC", Help: "1: flush rebuilt datasets and restart from the prefix directory"},

	{Name: "SCR_FLUSH", Default: "10", Kind: kindInteger, Gen: "ABC", Help: "flush every n-th checkpoint, 0: none"},
	{Name: "SCR_FLUSH_WIDTH", Default: "256", Kind: kindInteger, Gen: "ABC", Help: "maximum number of ranks that write to the prefix directory at the same time"},
	{Name: "SCR_FLUSH_TYPE", Default: "SYNC", Kind: kindChoice, Choices: []string{"SYNC", "PTHREAD", "BBAPI", "DATAWARP"}, Gen: "C", Help: "how files are copied to the prefix directory; PTHREAD is the same as SCR_FLUSH_ASYNC=1; here BBAPI and DATAWARP are the same as SYNC"},
	{Name: "SCR_FLUSH_ON_RESTART", Default: "0", Kind: kindFlag, Gen: "ABC", Help: "1: flush rebuilt datasets at the start"},
	{Name: "SCR_FLUSH_POSTSTAGE", Default: "0", Kind: kindFlag, Gen: "C", Help: "1: a script finishes flushes after the job; without effect here, see blobio scr run --only postrun"},
	{Name: "SCR_FLUSH_ASYNC", Default: "0", Kind: kindFlag, Gen: "ABC", Help: "1: flush in the background"},
	{Name: "SCR_FLUSH_ASYNC_BW", Default: "200m", Kind: kindSize, Gen: "AB", Help: "limit of all background flushes together, in bytes per second; 0: none"},
	{Name: "SCR_FLUSH_ASYNC_PERCENT", Default: "0", Kind: kindNumber, Negative: true, Gen: "AB", Help: "limit of the CPU time of a background flush, in percent of a core; 0: none"},
	{Name: "SCR_FLUSH_ASYNC_USLEEP", Default: "1000", Kind: kindInteger, Gen: "C", Help: "time between two polls of a background flush, in microseconds; without effect here"},
	{Name: "SCR_CRC_ON_FLUSH", Default: "1", Kind: kindFlag, Gen: "AB", Help: "1: record the CRC-32 of each flushed file, and check it when the file is fetched (in C without effect; here always on)"},
	{Name: "SCR_CRC_ON_COPY", Default: "0", Kind: kindFlag, Gen: "AB", Help: "1: record and check the CRC-32 of files in the caches and of redundancy (here also if it is not set); 0: do not"},
	{Name: "SCR_CRC_ON_DELETE", Default: "0", Kind: kindFlag, Gen: "AB", Help: "1: check the CRC-32 of files before they are deleted (in C without effect)"},
	{Name: "SCR_PRESERVE_DIRECTORIES", Default: "1", Kind: kindFlag, Gen: "B", Help: "1: keep the user's directories in the prefix directory (in C and here always on)"},
	{Name: "SCR_USE_CONTAINERS", Default: "0", Kind: kindFlag, Gen: "AB", Help: "1: flushes pack files into containers"},
	{Name: "SCR_CONTAINER_SIZE", Default: "100g", Kind: kindSize, Gen: "AB", Help: "maximum size of a container"},

	{Name: "SCR_CHECKPOINT_INTERVAL", Default: "0", Kind: kindInteger, Gen: "ABC", Help: "request a checkpoint at every n-th call of SCR_Need_checkpoint; 0: off"},
	{Name: "SCR_CHECKPOINT_SECONDS", Default: "0", Kind: kindInteger, Gen: "ABC", Help: "request a checkpoint this many seconds after the last one; 0: off"},
	{Name: "SCR_CHECKPOINT_OVERHEAD", Default: "0", Kind: kindNumber, Gen: "ABC", Help: "request a checkpoint as long as checkpoints take less than this percentage of the time; 0: off"},
	{Name: "SCR_HALT_SECONDS", Default: "0", Kind: kindInteger, Gen: "ABC", Help: "end the run when only this many seconds of the allocation remain; a value in the halt file takes precedence"},
	{Name: "SCR_HALT_EXIT", Default: "0", Kind: kindFlag, Gen: "C", Help: "1: SCR's library ends the process; without effect here, because blobio never ends it"},
	{Name: "SCR_HALT_ENABLED", Default: "1", Kind: kindFlag, Gen: "B", Help: "name of SCR_HALT_EXIT in B; without effect here"},
	{Name: "SCR_END_TIME", Kind: kindTime, Gen: "ABC", Help: "time at which the allocation ends"},

	{Name: "SCR_MPI_BUF_SIZE", Default: "1m", Kind: kindSize, Gen: "ABC", Help: "size of a message (B and SCR's guide: 128 KiB); without effect here"},
	{Name: "SCR_FILE_BUF_SIZE", Default: "32m", Kind: kindSize, Gen: "ABC", Help: "size of one read or write (B and SCR's guide: 1 MiB); without effect here, because blobio chooses pieces that fit the cache of a core"},

	{Name: "SCR_JOB_ID", Kind: kindText, Gen: "ABC", Help: "ID of the allocation; default: SLURM_JOBID, PBS_JOBID, LSB_JOBID, FLUX_JOB_ID, else defjobid"},
	{Name: "SCR_JOB_NAME", Kind: kindText, Gen: "ABC", NoProgram: true, Help: "name of the simulation, stored with each dataset"},
	{Name: "SCR_USER_NAME", Kind: kindText, Gen: "ABC", Help: "name of the user; default: USER"},
	{Name: "SCR_CLUSTER_NAME", Kind: kindText, Gen: "ABC", Help: "name of the machine, stored with each dataset"},

	{Name: "SCR_LOG_ENABLE", Default: "0", Kind: kindFlag, Gen: "ABC", NoProgram: true, Help: "0 switches off all logging"},
	{Name: "SCR_LOG_TXT_ENABLE", Default: "1", Kind: kindFlag, Gen: "ABC", NoProgram: true, Help: "1: log to <prefix>/.scr/log"},
	{Name: "SCR_LOG_SYSLOG_ENABLE", Default: "1", Kind: kindFlag, Gen: "ABC", NoProgram: true, Help: "1: log to syslog"},
	{Name: "SCR_LOG_DB_ENABLE", Default: "0", Kind: kindFlag, Gen: "ABC", NoProgram: true, Help: "1: log to MySQL; not supported here, but accepted, so that SCR's configuration files can be read"},
	{Name: "SCR_LOG_DB_DEBUG", Default: "0", Kind: kindFlag, Gen: "ABC", NoProgram: true, Help: "for MySQL; not supported here, see SCR_LOG_DB_ENABLE"},
	{Name: "SCR_LOG_DB_HOST", Kind: kindText, Gen: "ABC", NoProgram: true, Help: "for MySQL; not supported here, see SCR_LOG_DB_ENABLE"},
	{Name: "SCR_LOG_DB_NAME", Kind: kindText, Gen: "ABC", NoProgram: true, Help: "for MySQL; not supported here, see SCR_LOG_DB_ENABLE"},
	{Name: "SCR_LOG_DB_USER", Kind: kindText, Gen: "ABC", NoProgram: true, Help: "for MySQL; not supported here, see SCR_LOG_DB_ENABLE"},
	{Name: "SCR_LOG_DB_PASS", Kind: kindText, Gen: "ABC", NoProgram: true, Help: "for MySQL; not supported here, see SCR_LOG_DB_ENABLE"},

	{Name: "SCR_RUNS", Default: "1", Kind: kindInteger, Negative: true, Gen: "BC", Help: "run loop: maximum number of runs in an allocation; -1: no limit"},
	{Name: "SCR_RETRIES", Kind: kindInteger, Gen: "A", Help: "run loop: maximum number of runs after the first; used if SCR_RUNS is not set"},
	{Name: "SCR_MIN_NODES", Kind: kindInteger, Gen: "ABC", Help: "run loop: number of nodes that a run needs; default: the number of the last run, else all"},
	{Name: "SCR_NODELIST", Kind: kindText, Gen: "ABC", Help: "run loop: the nodes of the allocation, as a host list"},
	{Name: "SCR_EXCLUDE_NODES", Kind: kindText, Gen: "ABC", NoProgram: true, Help: "run loop: nodes that must not be used, as a host list"},
	{Name: "SCR_NODE_TESTS", Default: "ping,echo,dir_capacity", Kind: kindText, Gen: "C", Help: "run loop: tests that a node must pass, separated by commas"},
	{Name: "SCR_WATCHDOG", Default: "0", Kind: kindFlag, Gen: "ABC", Help: "1: the run loop ends a run that makes no progress"},
	{Name: "SCR_WATCHDOG_TIMEOUT", Kind: kindInteger, Gen: "ABC", NoProgram: true, Help: "run loop: the watchdog ends a run after this many seconds without a new checkpoint in the cache"},
	{Name: "SCR_WATCHDOG_TIMEOUT_PFS", Kind: kindInteger, Gen: "ABC", NoProgram: true, Help: "run loop: SCR_WATCHDOG_TIMEOUT while a dataset is written to the parallel file system"},
}

// descriptorKeys holds the keys that begin descriptor lines. A descriptor is a tree, not a parameter. The value is true if the
// program may not set the key.
var descriptorKeys = map[string]bool{
	"GROUPS": false, "STORE": false, "CKPT": false,
	"CACHE": true, "CACHEDIR": true, "CNTLDIR": true,
}

// Params returns the table of all parameters, by topic.
func Params() []Param {
	out := slices.Clone(params[:])
	for i := range out {
		out[i].Choices = slices.Clone(out[i].Choices)
	}
	return out
}

// Find returns the parameter with a name.
func Find(name string) (Param, bool) {
	if p := find(name); p != nil {
		return *p, true
	}
	return Param{}, false
}

func find(name string) *Param {
	for i := range params {
		if params[i].Name == name {
			return &params[i]
		}
	}
	return nil
}

// linuxBase is the base of the control and cache directories on Linux. It is a file system in memory that every node has.
const linuxBase = "/dev/shm"

// builtin returns the default of a parameter on this system.
func builtin(p *Param) string {
	if p.Default == linuxBase && runtime.GOOS != "linux" {
		return os.TempDir()
	}
	return p.Default
}
