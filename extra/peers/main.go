// Peers measures blobio against the libraries that users have today, on the same data and with as many processes. README.md says what
// it needs and how it measures.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if len(os.Args) == 3 && os.Args[1] == "worker" {
		err = work(ctx, os.Args[2])
	} else {
		err = measure(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context) error {
	var o Options
	var bins string
	var asJSON, verbose bool
	flag.StringVar(&o.Dir, "dir", os.TempDir(), "`directory` on the file system to measure")
	flag.IntVar(&o.Runs, "runs", 5, "runs of each row")
	flag.BoolVar(&o.Quick, "quick", false, "smallest sizes and two runs: does it work?")
	flag.StringVar(&o.Maps, "maps", "", "`directory` with the captured maps of E3SM-IO (default: generated ones of their size)")
	flag.StringVar(&o.Peers, "peers", "", "`directory` in which the C programs are built and kept (default: a temporary one)")
	flag.StringVar(&bins, "peer-bin", "", "builds of E3SM-IO's e3sm_io to time as well, with commas; needs -maps")
	flag.BoolVar(&o.NoTune, "no-tune", false, "run the peers with one setting of MPI-IO, do not search for the best")
	flag.BoolVar(&asJSON, "json", false, "print JSON")
	flag.BoolVar(&verbose, "v", false, "report progress on standard error")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: peers [flags] [WORKLOAD...]")
		for _, w := range workloads {
			fmt.Fprintf(os.Stderr, "  %-10s %s\n", w.name, w.about)
		}
		flag.PrintDefaults()
	}
	flag.Parse()
	for _, n := range flag.Args() {
		if !slices.ContainsFunc(workloads, func(w workload) bool { return w.name == n }) {
			return fmt.Errorf("no workload %q", n)
		}
	}
	if bins != "" {
		o.PeerBins = strings.Split(bins, ",")
	}
	if o.Quick {
		o.Runs = 2
	}
	o.Log = func(s string) {
		if verbose {
			fmt.Fprintln(os.Stderr, s)
		}
	}
	res, err := run(ctx, o, flag.Args())
	if res == nil {
		return err
	}
	if asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", " ")
		if jerr := e.Encode(res); err == nil {
			err = jerr
		}
		return err
	}
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "DATA\tWHAT\tWHO\tRANKS\tMEDIAN\tSPREAD\tMIB/S\tOF RAW\tTUNING")
	for i := range res.Rows {
		r := &res.Rows[i]
		raw := ""
		if s, ok := r.OfRaw(); ok {
			raw = fmt.Sprintf("%.2f", s)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%.0f %%\t%.0f\t%s\t%s\n", r.Data, r.What, r.Who, ranksText(r.Ranks, r.As), Seconds(r.Median()), 100*r.Spread(), r.Rate()/(1<<20), raw, r.Tuning)
	}
	if ferr := t.Flush(); err == nil {
		err = ferr
	}
	for _, s := range res.Skipped {
		fmt.Println("not measured:", s)
	}
	return err
}
