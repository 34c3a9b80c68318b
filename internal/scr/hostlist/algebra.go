package hostlist

// Diff returns the hosts of a that are not in b, in the order of a.
func Diff(a, b []string) []string { return filter(a, b, false) }

// Intersect returns the hosts of a that are also in b, in the order of a.
func Intersect(a, b []string) []string { return filter(a, b, true) }

func filter(a, b []string, keep bool) []string {
	in := make(map[string]struct{}, len(b))
	for _, h := range b {
		in[h] = struct{}{}
	}
	var out []string
	for _, h := range a {
		if _, ok := in[h]; ok == keep {
			out = append(out, h)
		}
	}
	return out
}

// Union returns the hosts of all lists, each once, in the order of first appearance.
func Union(lists ...[]string) []string {
	var out []string
	in := map[string]struct{}{}
	for _, l := range lists {
		for _, h := range l {
			if _, ok := in[h]; !ok {
				in[h] = struct{}{}
				out = append(out, h)
			}
		}
	}
	return out
}

// Nth returns the n-th host, counted from 1. Negative n count from the end. ok is false if there is no
// such host.
func Nth(hosts []string, n int) (host string, ok bool) {
	if n < 0 {
		n += len(hosts) + 1
	}
	if n < 1 || n > len(hosts) {
		return "", false
	}
	return hosts[n-1], true
}
