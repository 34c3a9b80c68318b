package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"blobio/internal/par"
)

const (
	serverLoad  = "greedy requests"
	serverWho   = "blobio serve"
	loadRuns    = 3  // at most
	loadClients = 64 // at once
	lazyClients = 16 // that ask for much and take nothing
)

// load measures the most memory that a server takes which many clients ask for much: of two large datasets and of many small ones.
func (s *session) load(ctx context.Context, job Job, data string, _ *python) error {
	if err := s.canShow(ctx, byServer); err != nil {
		return err
	}
	_, large, err := s.datasets(ctx, job, 0)
	if err != nil {
		return err
	}
	small, err := s.manyDatasets(ctx)
	if err != nil {
		return err
	}
	var big []string
	for _, l := range layouts {
		big = append(big, filepath.Base(large[l]))
	}
	row := &Row{Data: fmt.Sprintf("%s, and %d small datasets", data, len(small)), What: serverLoad, Who: serverWho}
	runs := min(s.Runs, loadRuns)
	return s.raceUntil(ctx, false, func(run int) bool { return run < runs }, runner{row: row, run: func(ctx context.Context) (t Took, err error) {
		v, err := s.show(ctx, byServer)
		if err != nil {
			return t, err
		}
		l := &loading{base: v.at}
		err = l.run(ctx, s.requests(big, small), big)
		t.Seconds, t.Bytes = l.took.Seconds(), l.bytes.Load()
		peak, eerr := v.end()
		if t.Memory = peak; err == nil && peak == 0 {
			err = fmt.Errorf("the memory of another process cannot be told here: %w", errSkip)
		}
		row.Note = fmt.Sprintf("%d requests of %d clients, %d refused (503); beside them %d clients that take nothing", l.done.Load(), loadClients, l.refused.Load(), lazyClients)
		return t, errors.Join(err, eerr)
	}})
}

// manyDatasets writes small datasets in both layouts in a folder, and returns their paths in the directory of the session.
func (s *session) manyDatasets(ctx context.Context) (names []string, err error) {
	j, err := s.capturedJob("F_h1")
	if err != nil {
		return nil, err
	}
	n := 200
	if s.Quick {
		n = 4
	}
	t, err := j.load()
	if err != nil {
		return nil, err
	}
	all, err := t.fillAll()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.path("many"), 0o777); err != nil {
		return nil, err
	}
	for i := range n {
		name := path.Join("many", fmt.Sprintf("h1.%03d.nc", i))
		if _, err := t.once(ctx, all, s.path(name), t.options(layouts[i%len(layouts)])); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// requests are what greedy clients ask for, in an order that is the same in each run.
func (s *session) requests(big, small []string) (list []string) {
	times := func(n int, request string) {
		if s.Quick {
			n = 1
		}
		for range n {
			list = append(list, request)
		}
	}
	deep := []string{"T", "U", "V", "Q", "OMEGA", "CLOUD", "RELHUM", "Z3"}
	width := 1200 // the most that there is
	if s.Quick {
		deep, width = deep[:1], 320
	}
	for _, b := range big {
		times(3, "files/"+b)
		times(3, "dap/"+b+".dods")
		times(4, "dap/"+b+".dods?"+strings.Join(deep, ","))
		times(1, "dap/"+b+".ascii?T")
		times(4, "view/"+b)
		times(2, "zarr/"+b+"/.zmetadata")
		times(2, "zarr3/"+b+"/zarr.json")
		for _, v := range deep {
			times(4, "dap/"+b+".dods?"+v)
			times(8, "zarr/"+b+"/"+v+"/0.0.0")
			times(8, "zarr3/"+b+"/"+v+"/c.0.0.0")
			times(2, fmt.Sprintf("plot/%s?format=png&width=%d&var=%s", b, width, v))
		}
	}
	for _, d := range small {
		list = append(list, "files/"+d, "dap/"+d+".dods", "zarr/"+d+"/.zmetadata", "zarr/"+d+"/U/0.0.0", "view/"+d)
	}
	list = append(list, "", "files/many/")
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// loading is one run of many clients.
type loading struct {
	base                 string
	took                 time.Duration
	bytes, done, refused atomic.Int64
}

// run asks for everything and takes it, as fast as it comes. Meanwhile some take nothing.
func (l *loading) run(ctx context.Context, requests, big []string) error {
	address, err := url.Parse(l.base)
	if err != nil {
		return err
	}
	for i := range lazyClients {
		c, err := net.Dial("tcp", address.Host)
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := fmt.Fprintf(c, "GET /%s/%s HTTP/1.1\r\nHost: localhost\r\n\r\n", []string{"files", "dap"}[i%2], big[i/2%len(big)]+[]string{"", ".dods"}[i%2]); err != nil {
			return err
		}
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: loadClients}}
	defer client.CloseIdleConnections()
	start := time.Now()
	err = par.Each(ctx, loadClients, len(requests), func(ctx context.Context, i int) error { return l.ask(ctx, client, requests[i]) })
	l.took = time.Since(start)
	return err
}

// ask makes one request. To be refused for a while is an answer, too.
func (l *loading) ask(ctx context.Context, client *http.Client, request string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.base+request, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	l.bytes.Add(n)
	l.done.Add(1)
	switch {
	case err != nil:
		return pkg.Errorf("%s: %w", request, err)
	case resp.StatusCode == http.StatusServiceUnavailable:
		l.refused.Add(1)
	case resp.StatusCode != http.StatusOK:
		return pkg.Errorf("%s: %s", request, resp.Status)
	}
	return nil
}
