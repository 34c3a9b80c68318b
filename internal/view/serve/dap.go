package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"

	"blobio/internal/base/version"
	"blobio/internal/view/dap"
)

// dapForms maps the suffixes of DAP2 to the content descriptions of their answers.
var dapForms = map[string]string{"dds": "dods_dds", "das": "dods_das", "dods": "dods_data", "ascii": "dods_ascii", "asc": "dods_ascii", "info": "dods_info", "ver": "dods_version"}

// dap answers DAP2 requests for one dataset. Errors become DAP2 Error objects.
func (s *Server) dap(a *answer, r *http.Request, path string) error {
	err := s.dap2(a, r, path)
	if err == nil || a.sent {
		return err
	}
	status, code := statusOf(err), dap.Code(err)
	switch status {
	case http.StatusNotFound:
		code = dap.CodeNoFile
	case http.StatusServiceUnavailable:
		code = dap.CodeUnknown
	}
	a.setError(status)
	a.told = err
	return dapText(a, "dods_error", dap.AppendError(nil, code, s.log.textOf(err)))
}

func dapHeaders(h http.Header, what string) {
	h.Set("XDODS-Server", "dods/2.0")
	h.Set("XDAP", "2.0")
	h.Set("Content-Description", what)
	h.Set("Content-Type", "text/plain; charset=utf-8")
	if what == "dods_data" {
		h.Set("Content-Type", "application/octet-stream")
	}
}

// dap2 answers like dap, but does not convert errors to Error objects.
func (s *Server) dap2(a *answer, r *http.Request, where string) error {
	ctx := r.Context()
	form := strings.TrimPrefix(path.Ext(where), ".")
	what, ok := dapForms[form]
	if ok {
		where = strings.TrimSuffix(where, "."+form)
	} else {
		form, what = "info", dapForms["info"]
	}
	if form == "ver" {
		return dapText(a, what, []byte("Core version: DAP/2.0\nServer version: blobio/"+version.Number+"\n"))
	}
	d, err := s.dataset(ctx, where)
	if err != nil {
		return err
	}
	defer d.Release()
	client := dap.ClientOf(r.UserAgent())
	set := dap.New(path.Base(where), d.Canonical().Header(), client, func(ctx context.Context, name string, start, count []int64, dst []byte) error {
		give, err := s.work.take(ctx, 1)
		if err != nil {
			return err
		}
		defer give()
		return d.Reader().ReadBytes(ctx, name, start, count, dst, true)
	})
	q, err := set.Request(r.URL.RawQuery)
	if err != nil {
		return err
	}
	give, err := s.memory.take(ctx, q.Memory()+held+piece)
	if err != nil {
		return err
	}
	defer give()
	switch form {
	case "dds":
		return dapText(a, what, q.AppendDDS(nil))
	case "das":
		return dapText(a, what, set.AppendDAS(nil))
	case "info":
		return dapText(a, what, set.AppendDAS(q.AppendDDS(nil)))
	}
	n, known, err := q.Size()
	if err != nil {
		return err
	}
	dapHeaders(a.Header(), what)
	write := q.WriteASCII
	if form == "dods" {
		write = func(ctx context.Context, w io.Writer) error {
			err := q.WriteDODS(ctx, w)
			if err != nil && client == dap.NetCDFClient && q.Several() && statusOf(err) == http.StatusInternalServerError {
				// The client requests all small variables at once. It shows zeros for a variable that the answer lacks or declares empty.
				err = fmt.Errorf("%w; the request also covers other variables: put [noprefetch] before the URL to read each variable separately", err)
			}
			return err
		}
		if known {
			a.Header().Set("Content-Length", strconv.FormatInt(n, 10))
		}
	}
	if a.head {
		return nil
	}
	if client == dap.NetCDFClient && form == "dods" && (n > held || !known) {
		// The client treats a partial answer as complete and the missing part as zeros. So all data are read once before any data
		// are sent.
		if err := write(ctx, io.Discard); err != nil {
			return err
		}
	}
	w := bufio.NewWriterSize(a, held)
	if err := write(ctx, w); err != nil {
		return err
	}
	return w.Flush()
}

// held is the number of bytes of an answer that are buffered before the first byte is sent. An error within these bytes can still
// set the status.
const held = 256 << 10

// dapText sends a complete text.
func dapText(a *answer, what string, text []byte) error {
	dapHeaders(a.Header(), what)
	return sendText(a, a.Header().Get("Content-Type"), text)
}
