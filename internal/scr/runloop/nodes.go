package runloop

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"blobio/internal/base/fault"
	"blobio/internal/scr/hostlist"
)

// Source is the list of nodes of the allocation, and where the list was found.
type Source struct {
	Nodes []string // each node once, in the order of the list
	From  string   // where the names were found: --nodes, SCR_NODELIST, the variable or file of a resource manager, "this host"
}

// FindNodes tries these sources in turn: the given list (errors call it what); SCR_NODELIST in the environment; Slurm
// (SLURM_JOB_NODELIST, SLURM_NODELIST); Flux and others (FLUX_JOB_NODELIST); PBS (the file PBS_NODEFILE); LSF (the file
// LSB_DJOB_HOSTFILE, or LSB_HOSTS). If LSB_HOSTS has several hosts, FindNodes leaves out the first one, because it runs the
// job script. The last source is this host. env returns the value of an environment variable; nil means os.LookupEnv.
func FindNodes(given, what string, env func(string) (string, bool)) (Source, error) {
	if env == nil {
		env = os.LookupEnv
	}
	list := func(s, from string) (Source, error) {
		h, err := hostlist.Expand(s)
		if err != nil {
			return Source{}, fmt.Errorf("%s: %w", from, err)
		}
		if h = hostlist.Union(h); len(h) == 0 {
			return Source{}, fault.Usage("%s names no node", from)
		}
		return Source{h, from}, nil
	}
	if given != "" {
		return list(given, what)
	}
	for _, name := range []string{"SCR_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST", "FLUX_JOB_NODELIST"} {
		if v, ok := env(name); ok && v != "" {
			return list(v, name)
		}
	}
	for _, name := range []string{"PBS_NODEFILE", "LSB_DJOB_HOSTFILE"} {
		file, ok := env(name)
		if !ok || file == "" {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return Source{}, fmt.Errorf("%s: %w", name, err)
		}
		return list(strings.Join(strings.Fields(string(b)), ","), name+" "+file)
	}
	if v, ok := env("LSB_HOSTS"); ok && strings.TrimSpace(v) != "" {
		h := strings.Fields(v)
		if rest := slices.DeleteFunc(slices.Clone(h[1:]), func(x string) bool { return x == h[0] }); len(rest) > 0 {
			h = rest
		}
		return list(strings.Join(h, ","), "LSB_HOSTS")
	}
	h, err := os.Hostname()
	if err != nil {
		return Source{}, err
	}
	return Source{[]string{h}, "this host"}, nil
}

// Place chooses n of the nodes in up, which must have at least n nodes. Each node of the previous run keeps its position if it
// is up; otherwise a spare node replaces it. If more nodes are needed, spare nodes follow. own is always chosen if it is up.
func Place(before, up []string, n int, own string) []string {
	out := make([]string, 0, n)
	taken := map[string]bool{}
	for _, h := range before[:min(n, len(before))] {
		if slices.Contains(up, h) && !taken[h] {
			taken[h] = true
			out = append(out, h)
		} else {
			out = append(out, "")
		}
	}
	out = append(out, make([]string, n-len(out))...)
	var spare []string
	for _, h := range up {
		if !taken[h] {
			spare = append(spare, h)
		}
	}
	if i := slices.Index(spare, own); i > 0 {
		spare = slices.Insert(slices.Delete(spare, i, i+1), 0, own)
	}
	for i, h := range out {
		if h == "" && len(spare) > 0 {
			out[i], spare = spare[0], spare[1:]
		}
	}
	if own != "" && n > 0 && slices.Contains(spare, own) {
		out[n-1] = own
	}
	return out
}
