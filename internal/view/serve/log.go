package serve

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"blobio/internal/base/diary"
	"blobio/internal/base/fault"
	"blobio/internal/view/tree"
)

// A requestLog is the log of a server: a line for each request, and one for each item of a dataset that is not served.
type requestLog struct {
	diary *diary.Diary
	root  string // the served directory, removed from texts

	sync.Mutex
	told map[string]bool // datasets whose left-out items have been logged, by path and identity
}

func newRequestLog(w io.Writer, root string) *requestLog {
	return &requestLog{diary: diary.New(w, nil), root: root, told: map[string]bool{}}
}

// maxTold is the maximum number of files remembered as logged.
const maxTold = 4096

// request logs a line: time, host, method, URI, status (with * if the answer broke off), bytes, seconds, error.
func (l *requestLog) request(r *http.Request, a *answer, took time.Duration, err error) {
	host, _, serr := net.SplitHostPort(r.RemoteAddr)
	if serr != nil {
		host = r.RemoteAddr
	}
	broken := "" // the answer broke off
	if a.sent && (err != nil || a.failed != nil) && a.status < 400 {
		broken = "*"
	}
	line := fmt.Sprintf("%s %s %s %s %d%s %d %.3f", time.Now().UTC().Format("2006-01-02T15:04:05Z"), host, fault.Quoted(r.Method),
		fault.Quoted(shorten(r.RequestURI)), a.status, broken, a.bytes, took.Seconds())
	if err == nil {
		err = a.told
	}
	switch {
	case err != nil:
		line += " " + fault.Printable(shorten(err.Error()))
	case a.failed != nil:
		line += " " + fault.Printable(a.failed.Error())
	}
	fmt.Fprintln(l.diary, line)
}

// shorten keeps a log line readable.
func shorten(s string) string {
	const most = 500
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// leftOut logs the items of a netCDF-4 file that are not served, once for each state of the file. DAP and Zarr clients cannot see
// these items.
func (l *requestLog) leftOut(name string, d *tree.Dataset) {
	left := d.Reader().LeftOut()
	if len(left) == 0 {
		return
	}
	key := name + "\x00" + d.ID()
	l.Lock()
	told := l.told[key]
	if !told {
		if len(l.told) >= maxTold {
			clear(l.told)
		}
		l.told[key] = true
	}
	l.Unlock()
	if !told {
		for _, err := range left {
			fmt.Fprintf(l.diary, "%s - left out: %s\n", time.Now().UTC().Format("2006-01-02T15:04:05Z"), fault.Printable(shorten(l.relative(err.Error()))))
		}
	}
}

// relative removes the name of the directory from a text.
func (l *requestLog) relative(text string) string {
	if l.root == "/" {
		return text
	}
	return strings.ReplaceAll(text, strings.TrimSuffix(l.root, "/")+"/", "")
}

// textOf returns the text of an error for a client: with the name of the file, but not the path of the directory.
func (l *requestLog) textOf(err error) string {
	if statusOf(err) == http.StatusNotFound {
		return "no such dataset or file"
	}
	return l.relative(fault.Printable(err.Error()))
}
