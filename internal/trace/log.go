package trace

import (
	"cmp"
	"errors"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"blobio/internal/launcher"
)

var errSecure = errors.New("this program has rights that its caller lacks")

// newLog makes the file and writes its head.
func newLog(pattern string) (*log, error) {
	if privileged() {
		return nil, errSecure
	}
	rank, size, several := launcher.Rank()
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown"
	}
	name := expand(pattern, rank, several, host)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o666) // O_EXCL follows no link
	if err != nil {
		return nil, err
	}
	now := time.Now()
	l := &log{f: f, complain: complain, base: now.Add(-time.Duration(now.Nanosecond())), rank: rank, host: printable(host), mounts: readMounts()}
	l.mu.Lock()
	defer l.mu.Unlock()
	b := append(l.buf, "# darshan-dxt-parser text by blobio\n# exe: "...)
	b = append(b, printable(strings.Join(os.Args, " "))...)
	for _, v := range []struct {
		key string
		n   int64
	}{{"uid", int64(os.Getuid())}, {"jobid", jobID()}, {"start_time", l.base.Unix()}, {"nprocs", max(size, rank+1)}} {
		b = append(append(b, "\n# "...), v.key...)
		b = strconv.AppendInt(append(b, ": "...), v.n, 10)
	}
	b = append(b, "\n\n# mounted file systems (mount point and fs type)\n"...)
	for _, m := range l.mounts {
		b = append(append(append(append(append(b, "# mount entry:\t"...), printable(m.at)...), '\t'), m.kind...), '\n')
	}
	const stars = "# ***************************************************\n"
	l.buf = append(b, "\n"+stars+"# DXT_POSIX module data\n"+stars...)
	l.write()
	if l.dead.Load() {
		return nil, nil
	}
	return l, nil
}

// jobID is the number of the job by the scheduler, or that of the process.
func jobID() int64 {
	for _, name := range []string{"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "COBALT_JOBID", "FLUX_JOB_ID"} {
		digits, _, _ := strings.Cut(os.Getenv(name), ".")
		if n, err := strconv.ParseInt(digits, 10, 64); err == nil && n >= 0 {
			return n
		}
	}
	return int64(os.Getpid())
}

// expand fills in what a name leaves open.
func expand(pattern string, rank int64, several bool, host string) string {
	pid := strconv.Itoa(os.Getpid())
	r := strconv.FormatInt(rank, 10)
	var b strings.Builder
	own := false // the name is of this process alone
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' || i+1 == len(pattern) {
			b.WriteByte(pattern[i])
			continue
		}
		i++
		switch pattern[i] {
		case 'r':
			b.WriteString(r)
			own = true
		case 'p':
			b.WriteString(pid)
			own = true
		case 'h':
			b.WriteString(filepath.Base(host))
		case '%':
			b.WriteByte('%')
		default:
			b.WriteString(pattern[i-1 : i+1])
		}
	}
	if several && !own {
		b.WriteString("." + r)
	}
	return b.String()
}

// open is a file that was opened just now.
func (l *log) open(name string, m Moment) *File {
	f := &File{l: l, name: absolute(name)}
	f.add(Open, -1, -1, m)
	return f
}

// name writes a call on a name at once.
func (l *log) name(op Op, name, to string, m Moment) {
	if to != "" {
		to = absolute(to)
	}
	l.block(absolute(name), to, []row{{op, 0, -1, -1, m.t.Sub(l.base), time.Since(l.base)}})
}

func absolute(name string) string {
	if a, err := filepath.Abs(name); err == nil {
		return a
	}
	return name
}

// block writes rows of one file. to is behind the last of them.
func (l *log) block(name, to string, rows []row) {
	if l.dead.Load() {
		return
	}
	counts := [len(opNames)]int64{}
	for _, r := range rows {
		counts[r.op]++
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	at := mountOf(l.mounts, name)
	l.mu.Lock()
	defer l.mu.Unlock()
	b := append(l.buf[:0], "\n# DXT, file_id: "...)
	b = strconv.AppendUint(b, h.Sum64(), 10)
	b = append(append(b, ", file_name: "...), printable(name)...)
	b = strconv.AppendInt(append(b, "\n# DXT, rank: "...), l.rank, 10)
	b = append(append(b, ", hostname: "...), l.host...)
	b = strconv.AppendInt(append(b, "\n# DXT, write_count: "...), counts[Write], 10)
	b = strconv.AppendInt(append(b, ", read_count: "...), counts[Read], 10)
	b = append(append(b, "\n# DXT, mnt_pt: "...), printable(at.at)...)
	b = append(append(b, ", fs_type: "...), at.kind...)
	b = append(b, "\n# Module    Rank  Wt/Rd  Segment          Offset          Length    Start(s)      End(s)\n"...)
	for _, r := range rows {
		lead, wide := " X_POSIX", 8
		if r.op > Write {
			lead, wide = "# X_POSIX", 7
		}
		b = number(append(b, lead...), l.rank, wide)
		b = padded(b, opNames[r.op], 7)
		b = number(b, r.segment, 9)
		b = number(b, r.off, 16)
		b = number(b, r.n, 16)
		b = padded(b, strconv.FormatFloat(r.start.Seconds(), 'f', 6, 64), 12)
		b = padded(b, strconv.FormatFloat(r.end.Seconds(), 'f', 6, 64), 12)
		b = append(b, '\n')
	}
	if to != "" {
		b = append(append(append(b[:len(b)-1], " to "...), printable(to)...), '\n')
	}
	l.buf = b
	l.write()
}

// write writes what is in buf, at once. After an error nothing is written any more.
func (l *log) write() {
	if _, err := l.f.Write(l.buf); err != nil && !l.dead.Swap(true) {
		l.complain(err)
		_ = l.f.Close()
	}
}

// padded appends s, with a space at least in front, in a column of n characters.
func padded(b []byte, s string, n int) []byte {
	for range max(1, n-len(s)) {
		b = append(b, ' ')
	}
	return append(b, s...)
}

// number is padded of a number; of -1 it is a dash.
func number(b []byte, v int64, n int) []byte {
	if v < 0 {
		return padded(b, "-", n)
	}
	return padded(b, strconv.FormatInt(v, 10), n)
}

// printable is a name that ends no line.
func printable(s string) string {
	if strings.IndexFunc(s, unicode.IsControl) < 0 {
		return s
	}
	q := strconv.Quote(s)
	return q[1 : len(q)-1]
}

// mount is a file system.
type mount struct{ at, kind string }

// readMounts returns the file systems that are mounted, the longest names first; none where the system does not tell.
func readMounts() (list []mount) {
	b, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil
	}
	octal := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 2 {
			list = append(list, mount{octal.Replace(f[1]), printable(f[2])})
		}
	}
	slices.SortStableFunc(list, func(a, b mount) int { return cmp.Compare(len(b.at), len(a.at)) })
	return list
}

// mountOf is the file system of a name.
func mountOf(list []mount, name string) mount {
	for _, m := range list {
		if rest, ok := strings.CutPrefix(name, m.at); ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(m.at, "/")) {
			return m
		}
	}
	return mount{"UNKNOWN", "UNKNOWN"}
}
