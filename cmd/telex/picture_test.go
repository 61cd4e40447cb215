//go:build browser

package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// TestBrowserDrawsTheDemo takes pictures of the demo's page while an answer grows on all platforms, light and dark, for
// `make pictures`.
func TestBrowserDrawsTheDemo(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("PICTURES")
	p := openDemo(t, wide)
	p.do("ask about a picture", chromedp.Click(chromedp.CSS(`[data-sample="harbour.jpg"]`)))
	p.await("the answers", `look.complete(1)`)
	p.click("text")
	p.ask("Explain the tides")
	p.await("the second answer to grow", `["telegram", "discord", "slack"].every((place) => look.state(place) === "writing" && look.said(place).length > 400)`)
	for _, scheme := range []string{"light", "dark"} {
		p.scheme(scheme)
		picture := p.picture(func(ctx context.Context, _ *chromedp.Target) ([]byte, error) {
			quality := int64(82)
			out, err := chromedp.Call(ctx, cdpage.CaptureScreenshot, cdpage.CaptureScreenshotParams{Format: "webp", Quality: &quality})
			return out.Data, err
		})
		if dir != "" {
			if err := os.WriteFile(filepath.Join(dir, "demo-"+scheme+".webp"), picture, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestBrowserDrawsTheAnswer takes the README's pictures: an answer that grows on the demo's page, light and dark. `make
// pictures` stores these pictures in the directory that $PICTURES names.
func TestBrowserDrawsTheAnswer(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"light", "dark"} {
		t.Run(scheme, func(t *testing.T) {
			p := openPage(t, screen{640, 620})
			p.scheme(scheme)
			p.ask("Explain the tides")
			var animation gif.GIF
			began := time.Now()
			for seen := ""; seen == "" || seen[len(seen)-1] == cursor[len(cursor)-1]; {
				p.await("the answer to grow", fmt.Sprintf(`look.answers().length && look.text(look.answers().at(-1)) !== %q`, seen))
				seen = value[string](p, `look.text(look.answers().at(-1))`)
				if n := len(animation.Delay); n > 0 {
					animation.Delay[n-1] = int(time.Since(began) / (10 * time.Millisecond))
				}
				began = time.Now()
				animation.Image, animation.Delay = append(animation.Image, p.paletted()), append(animation.Delay, 500)
			}
			if n := len(animation.Image); n < 4 {
				t.Fatalf("%d pictures show no answer that grows", n)
			}
			var file bytes.Buffer
			if err := gif.EncodeAll(&file, &animation); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d pictures, %d bytes", len(animation.Image), file.Len())
			if dir := os.Getenv("PICTURES"); dir != "" {
				if err := os.WriteFile(filepath.Join(dir, "answer-"+scheme+".gif"), file.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// paletted returns a picture of the page with its 256 most frequent colours.
func (p *page) paletted() *image.Paletted {
	p.t.Helper()
	shot, err := png.Decode(bytes.NewReader(p.picture(chromedp.CaptureScreenshot())))
	if err != nil {
		p.t.Fatal(err)
	}
	counts := map[color.Color]int{}
	for y := range shot.Bounds().Dy() {
		for x := range shot.Bounds().Dx() {
			counts[shot.At(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(counts), func(a, b color.Color) int { return cmp.Compare(counts[b], counts[a]) })
	picture := image.NewPaletted(shot.Bounds(), colours[:min(256, len(colours))])
	draw.Draw(picture, picture.Bounds(), shot, image.Point{}, draw.Src)
	return picture
}
