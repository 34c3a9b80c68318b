package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/cli"
	"blobio/internal/view/serve"
)

type serveFlags struct {
	listen    string
	tokenFile string
	public    bool
	hosts     []string
	cors      string
	log       string
	format    string
	memory    int64
	work      int
	chunk     int64
	rescue    bool
	missing   bool
	fill      string
}

const (
	defaultMemory = 384 << 20
	leastMemory   = 32 << 20
	beside        = 64 << 20 // memory that the program needs in addition to --memory
)

// NewServe makes the verb.
func NewServe(e *cli.Env) *cobra.Command {
	f := serveFlags{memory: defaultMemory}
	cmd := &cobra.Command{
		Use:   "serve DIR",
		Short: "Serve datasets over HTTP as netCDF files, by OPeNDAP and as Zarr",
		Long: `Serve the datasets below a directory over HTTP, read only and without converting them. Nothing
outside of the directory is visible.

  /                     a list of datasets, with a page and pictures of each in a browser;
                        JSON with "Accept: application/json"
  /files/PATH           a dataset as one netCDF file, with byte ranges
  /dap/PATH             the same for OPeNDAP (DAP2) clients: ncdump, ncks, cdo, xarray, ...
  /zarr/PATH            the same as a Zarr group, version 2: zarr, xarray, dask, zarrita, ...
  /zarr3/PATH           the same in version 3

PATH is the base name of the dataset, relative to DIR. A Cello checkpoint or an array with
versions is DIR.nc, named after its directory. After a dataset is committed, replaced or
removed, the next request sees the change. Reads of damaged data fail; all other reads succeed.

By default only this machine can connect. Any other --listen address needs --token-file or
--public. --token-file is a file with a secret that clients send ("Authorization: Bearer
SECRET", or as the password of any user). --public lets everybody read. There is no TLS. Put a
proxy in front of the server, or use "ssh -L 8080:127.0.0.1:8080 HOST".

Each request gives one line on stderr or in --log: time, client, method, path, status (* if the
response was interrupted), bytes, seconds, error. An unread log does not block the server;
dropped lines are counted. ctrl-C ends the server.`,
		Example: `  blobio serve run
  ncdump -h http://127.0.0.1:8080/dap/F_h0.nc
  ncks -d time,0 -v T850 http://127.0.0.1:8080/dap/F_h1.nc t850.nc
  curl -O http://127.0.0.1:8080/files/F_h0.nc
  blobio serve --listen :8080 --token-file secret run`,
		Args: cli.ExactArgs(1, "a directory"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), e, args[0]) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.listen, "listen", "127.0.0.1:8080", "address and port; port 0 selects a free port")
	fl.StringVar(&f.tokenFile, "token-file", "", "file with the secret of clients in its first line; must not be readable by other users")
	fl.BoolVar(&f.public, "public", false, "allow everybody to read without a token")
	fl.StringSliceVar(&f.hosts, "host", nil, "also accept requests for this host name, for a proxy on this machine")
	fl.StringVar(&f.cors, "cors", "", "origin whose web pages may read, such as https://example.org; * for any")
	fl.StringVar(&f.log, "log", "", "append a line for each request to this file (\"none\": no log)")
	cli.ChoiceFlag(cmd, &f.format, "format", "cdf5", "format of the files", "cdf5", "cdf2", "cdf1")
	fl.Var(cli.SizeFlag(&f.memory), "memory", "memory limit of buffers and caches, such as 256M or 1G")
	fl.Var(cli.SizeFlag(&f.chunk), "chunk", "zarr: maximum bytes of a chunk (default 8M)")
	fl.BoolVar(&f.rescue, "no-verify", false, "read data without verifying checksums, to rescue damaged data")
	cli.AllowMissingFlag(cmd, &f.missing)
	cli.FillFlag(cmd, &f.fill)
	cli.WorkersFlag(cmd, &f.work, "number of concurrent reads (default: twice the number of CPUs)")
	return cli.AsService(cmd)
}

var formats = map[string]cdf5.Version{"cdf5": cdf5.CDF5, "cdf2": cdf5.CDF2, "cdf1": cdf5.CDF1}

func (f *serveFlags) run(ctx context.Context, e *cli.Env, dir string) error {
	if f.memory < leastMemory {
		return cli.Usagef("--memory %s, want at least %s", cli.HumanBytes(f.memory), cli.HumanBytes(leastMemory))
	}
	o := &serve.Options{Public: f.public, Hosts: f.hosts, CORS: f.cors, Version: formats[f.format], Memory: f.memory, Work: f.work, ZarrChunk: f.chunk,
		AllowMissing: f.missing, ZeroFill: f.fill == "zero"}
	if f.rescue {
		o.Verify = blob.VerifyNever
	}
	if f.tokenFile != "" {
		var err error
		if o.Token, err = readToken(f.tokenFile); err != nil {
			return err
		}
	}
	log, err := f.openLog(e)
	if err != nil {
		return err
	}
	defer log.Close()
	o.Log = log
	cli.OutliveReaders()
	s, err := serve.New(dir, o)
	switch {
	case errors.Is(err, blob.ErrUsage):
		return cli.AsUsage(err)
	case err != nil:
		return err
	}
	defer s.Close()
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return cli.WithHint(err, "--listen 127.0.0.1:0 selects a free port")
		}
		return err
	}
	if s.CheckAddr(l.Addr()) != nil {
		l.Close()
		return cli.Usagef("--listen %s is reachable from other machines: give --token-file, or --public to let everybody read", f.listen)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(f.memory + beside)
	}
	fmt.Fprintf(e.Out, "%s is shown on http://%s/ (ctrl-C ends it)\n", cli.Plain(dir), reachable(l.Addr()))
	if err := e.Out.Flush(); err != nil {
		l.Close()
		return err
	}
	return s.Serve(ctx, l)
}

// reachable returns an address for a client on this machine.
func reachable(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("localhost", port)
	}
	return a.String()
}

// maxToken is the maximum size of a token, in bytes.
const maxToken = 4 << 10

// readToken reads the first line of a file. It returns an error if other users can read the file.
func readToken(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	switch {
	case !info.Mode().IsRegular():
		return "", cli.Usagef("--token-file %s is not a file", name)
	case info.Mode().Perm()&0o007 != 0 && othersCount:
		return "", cli.WithHint(cli.Usagef("--token-file %s is readable by everybody (mode %04o)", name, info.Mode().Perm()), "chmod 600 "+name)
	}
	b, err := io.ReadAll(io.LimitReader(file, maxToken+1))
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(b), "\n")
	line = strings.TrimSpace(line)
	if line == "" || len(line) > maxToken {
		return "", cli.Usagef("--token-file %s: the first line has %d characters, want 16 to %d", name, len(line), maxToken)
	}
	return line, nil
}

// openLog opens the destination of request log lines.
func (f *serveFlags) openLog(e *cli.Env) (io.WriteCloser, error) {
	switch f.log {
	case "":
		return nothingToClose{e.Stderr}, nil
	case "none":
		return nothingToClose{io.Discard}, nil
	}
	return os.OpenFile(f.log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o640)
}

type nothingToClose struct{ io.Writer }

func (nothingToClose) Close() error { return nil }
