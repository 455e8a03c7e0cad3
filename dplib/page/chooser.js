'use strict'
// Draws the series and level that are chosen from the numbers that stand in the page. It fetches and keeps nothing.
for (const box of document.querySelectorAll('.chooser')) {
  const data = JSON.parse(box.querySelector('script').textContent)
  const part = name => box.querySelector('.' + name)
  const [find, series, by, log, drawing, said] = ['find', 'series', 'by', 'log', 'drawing', 'said'].map(part)
  const SVG = 'http://www.w3.org/2000/svg', WIDE = 60
  const text = (value, digits) => value == null ? '–' : value.toLocaleString('en-US', { minimumFractionDigits: digits ?? 0 }).replace('-', '−')
  // As arguments of one call, a hundred thousand numbers are too many for some browsers.
  const least = values => values.reduce((a, b) => Math.min(a, b)), most = values => values.reduce((a, b) => Math.max(a, b))
  let at = 0

  function list() {
    const wanted = find.value.trim().toLowerCase(), kept = series.value
    const found = data.names.map((name, number) => [name, number]).filter(([name]) => name.toLowerCase().includes(wanted))
    series.replaceChildren(...found.map(([name, number]) => new Option(name, number)))
    series.disabled = !found.length
    if (found.some(([, number]) => String(number) === kept)) series.value = kept
    levels()
  }

  function levels() {
    if (series.disabled) return
    const kept = by.value
    const found = data.levels.flatMap((level, number) => series.value < level.estimate.length ? [[level.name, number]] : [])
    by.replaceChildren(...found.map(([name, number]) => new Option(name, number)))
    const first = found.findLast(([, number]) => data.levels[number].labels.length >= 12) ?? found[0]
    by.value = found.some(([, number]) => String(number) === kept) ? kept : first[1]
    fresh()
  }

  function chosen() {
    const level = data.levels[by.value], row = Number(series.value), half = level.half[level.halfOf[row]]
    const margin = level.labels.map((_, i) => (Array.isArray(half) ? half[i] : half))
    return { level, margin, estimate: level.estimate[row], published: level.published && level.published[row] }
  }

  function linearTo({ estimate, margin }) {
    const sizes = estimate.map(Math.abs).sort((a, b) => a - b)
    return most([sizes[sizes.length >> 1], ...margin.filter(Number.isFinite), 1])
  }

  function fresh() {
    const shown = chosen(), { estimate } = shown
    log.checked = most(estimate.map(Math.abs)) > data.skewed * linearTo(shown)
    at = estimate.length - 1
    draw()
  }

  function steps(low, high) {
    const rough = (high - low) / 7 || 1, power = 10 ** Math.floor(Math.log10(rough))
    const step = power * [1, 2, 5, 10].find(each => each * power >= rough), found = []
    for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(k * step || 0)
    return found
  }

  function tens(low, high, unit) {
    const found = [0]
    for (let power = 10 ** Math.ceil(Math.log10(unit)); power <= Math.max(high, -low); power *= 10) found.push(power, -power)
    return found.filter(value => low <= value && value <= high)
  }

  function draw() {
    const shown = chosen(), { level, margin, estimate, published } = shown, n = estimate.length, few = n <= WIDE
    const ends = i => [estimate[i] - (margin[i] ?? 0), estimate[i] + (margin[i] ?? 0)]
    const all = [0, ...estimate.flatMap((_, i) => ends(i)), ...(published ?? [])].filter(Number.isFinite)
    const low = least(all), high = most(all), unit = linearTo(shown)
    const values = log.checked ? tens(low, high, unit) : steps(low, high)
    const width = Math.max(drawing.clientWidth, 280), height = 300, right = 10, top = 30, bottom = 32
    const left = Math.max(58, 12 + 7 * most(values.map(value => text(value).length)))
    const bent = v => !log.checked || Math.abs(v) <= unit ? v / unit : Math.sign(v) * (1 + Math.log10(Math.abs(v) / unit))
    const span = bent(high) - bent(low) || 1
    const y = v => top + (bent(high) - bent(v)) / span * (height - top - bottom)
    const x = i => left + (few ? (i + 0.5) / n : n > 1 ? i / (n - 1) : 0.5) * (width - left - right)
    const svg = document.createElementNS(SVG, 'svg')
    const add = (tag, attributes, content) => {
      const made = document.createElementNS(SVG, tag)
      for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
      if (content !== undefined) made.textContent = content
      svg.append(made)
    }
    const line = (points, attributes) => add('path', { d: points.map(([a, b]) => `${a.toFixed(1)} ${b.toFixed(1)}`).join('L').replace(/^/, 'M'), ...attributes })
    svg.setAttribute('viewBox', `0 0 ${width} ${height}`)
    svg.setAttribute('role', 'img')
    svg.setAttribute('aria-label', `${data.names[series.value]}, ${level.of}: ${text(least(estimate))} to ${text(most(estimate))}`)
    for (const value of values) {
      add('line', { class: value ? 'grid' : 'zero', x1: left, x2: width - right, y1: y(value), y2: y(value) })
      add('text', { class: 'tick', x: left - 6, y: y(value) + 4, 'text-anchor': 'end' }, text(value))
    }
    const ticks = level.ticks.length ? level.ticks : level.labels
    const longest = most(ticks.map(label => label.length)), room = Math.min(longest, 16) * 7 + 18
    const every = Math.ceil(n / Math.max(1, Math.floor((width - left - right) / room)))
    for (let i = 0; i < n; i += every) {
      const label = ticks[i], short = label.length > 16 ? label.slice(0, 15) + '…' : label
      const place = i === 0 && !few ? 'start' : i + every >= n && x(i) > width - room / 2 ? 'end' : 'middle'
      // A label that ends at its tick needs half of another one's room.
      if (place !== 'end' || !i || x(i) - x(i - every) >= 1.5 * room) add('text', { class: 'tick', x: x(i), y: height - 10, 'text-anchor': place }, short)
    }
    const marked = new Set(level.marked)
    add('text', { class: 'tick', x: left, y: 12 }, level.of + (marked.size && (few || marked.size <= WIDE) ? `; hollow: ${level.mark}` : ''))
    if (few) {
      const wide = Math.max(3, Math.min(10, (width - left - right) / n / 3))
      for (let i = 0; i < n; i++) {
        if (margin[i] != null) add('line', { class: 'bar', x1: x(i), x2: x(i), y1: y(ends(i)[0]), y2: y(ends(i)[1]) })
        if (published) add('line', { class: 'dash', x1: x(i) - wide, x2: x(i) + wide, y1: y(published[i]), y2: y(published[i]) })
        add('circle', { class: marked.has(i) ? 'hollow' : 'dot', cx: x(i), cy: y(estimate[i]), r: 3.5 })
      }
    } else {
      if (margin.some(Number.isFinite)) {
        const lower = estimate.map((_, i) => [x(i), y(ends(i)[0])]), upper = estimate.map((_, i) => [x(i), y(ends(i)[1])])
        line([...lower, ...upper.reverse()], { class: 'band' })
      }
      line(estimate.map((v, i) => [x(i), y(v)]), { class: 'line' })
      if (published) add('path', { class: 'dots', d: published.map((v, i) => `M${x(i).toFixed(1)} ${y(v).toFixed(1)}h0`).join('') })
      for (const i of marked.size <= WIDE ? marked : []) add('circle', { class: 'hollow', cx: x(i), cy: y(estimate[i]), r: 3 })
    }
    add('line', { class: 'at', x1: x(at), x2: x(at), y1: top, y2: height - bottom })
    const move = event => {
      const place = event.offsetX / svg.clientWidth * width
      at = Math.max(0, Math.min(n - 1, few ? Math.floor((place - left) / (width - left - right) * n) : Math.round((place - left) / (width - left - right) * (n - 1))))
      draw()
    }
    svg.addEventListener('click', move)
    svg.addEventListener('mousemove', move)
    drawing.replaceChildren(svg)
    const value = [estimate[at], margin[at]].filter(each => each != null).map(each => text(each, level.digits)).join(' ± ')
    said.replaceChildren()
    said.append(`${data.names[series.value]}, ${level.labels[at]}: ${value}`)
    if (published) said.append(`; published ${text(published[at])}`)
    if (marked.has(at)) said.append(` (${level.mark})`)
    said.classList.toggle('faint', margin[at] != null && Math.abs(estimate[at]) <= margin[at])
  }

  find.addEventListener('input', list)
  series.addEventListener('change', levels)
  by.addEventListener('change', fresh)
  log.addEventListener('change', draw)
  drawing.addEventListener('keydown', event => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (!step) return
    event.preventDefault()
    at = Math.max(0, Math.min(chosen().estimate.length - 1, at + step))
    draw()
  })
  box.hidden = false
  list()
  addEventListener('resize', () => { if (!series.disabled) draw() })
}
