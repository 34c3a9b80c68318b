package hostlist

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Compress returns the compressed form of a list of hosts. It sorts by number within each machine name, keeps duplicates and
// drops empty names. Expand(Compress(hosts)) returns the sorted hosts, unless a name contains a comma, a blank or a bracket.
func Compress(hosts []string) string {
	list := make([]host, 0, len(hosts))
	for _, h := range hosts {
		if h != "" {
			list = append(list, split(h))
		}
	}
	slices.SortStableFunc(list, compare)
	var b strings.Builder
	for len(list) > 0 {
		k := 1
		for k < len(list) && list[k].head == list[0].head && list[k].tail == list[0].tail {
			k++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		writeGroup(&b, list[:k])
		list = list[k:]
	}
	return b.String()
}

// Sort returns the hosts in the order of Compress.
func Sort(hosts []string) []string {
	out := slices.Clone(hosts)
	slices.SortStableFunc(out, func(a, b string) int { return compare(split(a), split(b)) })
	return out
}

func compare(a, b host) int {
	return cmp.Or(
		cmp.Compare(a.head, b.head),
		cmp.Compare(a.tail, b.tail),
		cmp.Compare(a.n, b.n),
		cmp.Compare(a.digits, b.digits))
}

// host is a host name, split around its number. If the name has no number, digits is "", head is the whole name and n is -1.
type host struct {
	head, digits, tail string
	n                  int64
}

func split(name string) host {
	label := name
	if dot := strings.IndexByte(name, '.'); dot >= 0 {
		label = name[:dot]
	}
	end := strings.LastIndexAny(label, "0123456789") + 1
	start := end
	for start > 0 && '0' <= label[start-1] && label[start-1] <= '9' {
		start--
	}
	n, err := strconv.ParseInt(name[start:end], 10, 64)
	if err != nil || end-start > maxDigits {
		return host{head: name, n: -1}
	}
	return host{head: name[:start], digits: name[start:end], tail: name[end:], n: n}
}

func writeGroup(b *strings.Builder, list []host) {
	if len(list) == 1 || list[0].n < 0 {
		for i, h := range list {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(h.head + h.digits + h.tail)
		}
		return
	}
	b.WriteString(list[0].head + "[")
	for i := 0; i < len(list); {
		lo := list[i]
		j := i
		// A range continues if the next number is larger by one and has the same digits that Expand would print.
		for j+1 < len(list) && list[j+1].n == list[j].n+1 && list[j+1].digits == pad(list[j+1].n, len(lo.digits)) {
			j++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(lo.digits)
		if j > i {
			b.WriteString("-" + list[j].digits)
		}
		i = j + 1
	}
	b.WriteString("]" + list[0].tail)
}
