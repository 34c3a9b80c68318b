package judges

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A browser is a headless Chromium with one page, driven over a pipe by its DevTools protocol.
type browser struct {
	t       *testing.T
	in      io.Writer
	session string

	mu      sync.Mutex
	next    int
	waiting map[int]chan reply
	asked   []string // URLs that the page asked for
	wrong   []string // exceptions, violations of policies, missing files
}

type reply struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Params json.RawMessage `json:"params"`
	Error  *struct{ Message string }
}

// newBrowser starts Chromium, which ends with the test.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	name := ""
	for _, n := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if _, err := exec.LookPath(n); err == nil && name == "" {
			name = n
		}
	}
	if name == "" {
		absent(t, "chromium is not installed")
	}
	in, out := pipe(t), pipe(t)
	cmd := exec.Command(name, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
		"--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{in[0], out[1]}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in[0].Close()
	out[1].Close()
	b := &browser{t: t, in: in[1], waiting: map[int]chan reply{}}
	t.Cleanup(func() {
		in[1].Close() // it ends then
		end := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
		_ = cmd.Wait()
		end.Stop()
		out[0].Close()
	})
	go b.listen(out[0])
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	b.session = session.SessionID
	for _, d := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(d+".enable", nil, nil)
	}
	return b
}

func pipe(t *testing.T) [2]*os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return [2]*os.File{r, w}
}

// listen receives the browser's answers and events.
func (b *browser) listen(r io.Reader) {
	s := bufio.NewReader(r)
	for {
		msg, err := s.ReadBytes(0)
		if err != nil {
			b.mu.Lock()
			for id, c := range b.waiting {
				close(c)
				delete(b.waiting, id)
			}
			b.mu.Unlock()
			return
		}
		var m reply
		if json.Unmarshal(bytes.TrimSuffix(msg, []byte{0}), &m) != nil {
			continue
		}
		b.mu.Lock()
		switch {
		case m.ID != 0:
			if c := b.waiting[m.ID]; c != nil {
				c <- m
				delete(b.waiting, m.ID)
			}
		case m.Method == "Network.requestWillBeSent":
			var p struct{ Request struct{ URL string } }
			_ = json.Unmarshal(m.Params, &p)
			b.asked = append(b.asked, p.Request.URL)
		case m.Method == "Runtime.exceptionThrown", m.Method == "Log.entryAdded":
			b.wrong = append(b.wrong, string(m.Params))
		}
		b.mu.Unlock()
	}
}

// call asks the browser to do something.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	if params == nil {
		params = map[string]any{}
	}
	b.mu.Lock()
	b.next++
	msg := map[string]any{"id": b.next, "method": method, "params": params}
	if b.session != "" {
		msg["sessionId"] = b.session
	}
	c := make(chan reply, 1)
	b.waiting[b.next] = c
	b.mu.Unlock()
	raw, err := json.Marshal(msg)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.in.Write(append(raw, 0)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	select {
	case m, ok := <-c:
		if !ok {
			b.t.Fatalf("%s: the browser has ended", method)
		}
		if m.Error != nil {
			b.t.Fatalf("%s: %s", method, m.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				b.t.Fatalf("%s: %v", method, err)
			}
		}
	case <-time.After(2 * time.Minute):
		b.t.Fatalf("%s: no answer", method)
	}
}

// screen sets the width and height of the window, and the preference for dark colours.
func (b *browser) screen(width, height int, dark bool) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// visit opens a page and waits until it has replaced the previous one.
func (b *browser) visit(url string) {
	b.t.Helper()
	b.eval("window.before = true")
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	b.until("the page "+url, `!window.before && document.readyState !== "loading"`)
}

// eval is the value of an expression on the page, as text.
func (b *browser) eval(expr string) string {
	b.t.Helper()
	var r struct {
		Result           struct{ Value any }
		ExceptionDetails any
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expr, "returnByValue": true, "awaitPromise": true}, &r)
	if r.ExceptionDetails != nil {
		return fmt.Sprint("exception: ", r.ExceptionDetails)
	}
	return fmt.Sprint(r.Result.Value)
}

// until waits until an expression is true.
func (b *browser) until(what, expr string) {
	b.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		got := b.eval("Boolean(" + expr + ")")
		if got == "true" {
			return
		}
		if time.Now().After(end) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.t.Fatalf("%s: %s is %s; %s", what, expr, got, strings.Join(b.wrong, "\n"))
		}
	}
}

// key presses a key.
func (b *browser) key(name string, code int) {
	b.t.Helper()
	for _, typ := range []string{"keyDown", "keyUp"} {
		p := map[string]any{"type": typ, "key": name, "code": name, "windowsVirtualKeyCode": code}
		if name == "Enter" && typ == "keyDown" {
			p["text"] = "\r"
		}
		b.call("Input.dispatchKeyEvent", p, nil)
	}
}

// mouse moves the pointer, or presses its button.
func (b *browser) mouse(typ string, x, y float64) {
	b.t.Helper()
	b.call("Input.dispatchMouseEvent", map[string]any{"type": typ, "x": x, "y": y, "button": map[bool]string{true: "none", false: "left"}[typ == "mouseMoved"], "clickCount": 1}, nil)
}

// shot saves a screenshot of the page in the folder BLOBIO_SCREENS.
func (b *browser) shot(name string) {
	b.t.Helper()
	dir := os.Getenv("BLOBIO_SCREENS")
	if dir == "" {
		return
	}
	var r struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": false}, &r)
	raw, err := base64.StdEncoding.DecodeString(r.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), raw, 0o666)
	}
	if err != nil {
		b.t.Error(err)
	}
}
