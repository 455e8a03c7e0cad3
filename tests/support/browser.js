// Looks at the pages in the frames of a document, and writes what it saw to the end of it.
addEventListener('load', () => {
  const apart = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 2 || b.bottom <= a.top + 2
  const look = frame => {
    const page = frame.contentWindow, body = page.document.body, said = {}, faults = []
    for (const box of body.querySelectorAll('.chooser')) {
      const [series, by] = [box.querySelector('.series'), box.querySelector('.by')]
      for (const name of [...series.options]) {
        series.value = name.value
        series.dispatchEvent(new Event('change'))
        for (const level of [...by.options]) {
          by.value = level.value
          by.dispatchEvent(new Event('change'))
          said[name.text + ' by ' + level.text] = box.querySelector('.said').textContent
          if (box.querySelector('svg').outerHTML.match(/NaN|undefined|Infinity/)) faults.push(name.text + ' is not drawn')
        }
      }
    }
    for (const svg of body.querySelectorAll('svg')) {
      const edge = svg.getBoundingClientRect(), label = svg.getAttribute('aria-label')
      const texts = [...svg.querySelectorAll('text')].map(each => [each.textContent, each.getBoundingClientRect()])
      if (!svg.querySelector('path, circle, line, rect')) faults.push('nothing is drawn: ' + label)
      for (const [text] of texts) if (text === '−0') faults.push('a zero with a sign of ' + label)
      texts.forEach(([text, box], number) => {
        const inside = edge.left <= box.left + 2 && box.right <= edge.right + 2 && edge.top <= box.top + 2 && box.bottom <= edge.bottom + 2
        if (!inside) faults.push(`cut: ${text} of ${label}`)
        for (const [other, its] of texts.slice(number + 1)) if (!apart(box, its)) faults.push(`overlap: ${text}, ${other} of ${label}`)
      })
    }
    return {
      wide: page.document.documentElement.scrollWidth, window: page.innerWidth, said, faults,
      background: page.getComputedStyle(body).backgroundColor, text: body.innerText,
    }
  }
  const found = [...document.querySelectorAll('iframe')].map(look)
  document.body.append(Object.assign(document.createElement('pre'), { textContent: JSON.stringify(found) }))
})