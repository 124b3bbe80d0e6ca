// Moves the mobiles of a map: one step of the slider is one moment.
(function () {
  'use strict';
  var svgns = 'http://www.w3.org/2000/svg';
  function ring(x, y, r) {
    return 'M' + (x - r) + ' ' + y + 'a' + r + ' ' + r + ' 0 1 0 ' + 2 * r + ' 0a' + r + ' ' + r + ' 0 1 0 ' + -2 * r + ' 0z';
  }
  function start(figure) {
    var data = JSON.parse(figure.querySelector('script').textContent);
    var slider = figure.querySelector('input'), button = figure.querySelector('button');
    var words = figure.querySelector('output');
    var dots = figure.querySelectorAll('.mobiles path'), changes = figure.querySelector('.changes');
    var timer = null;
    function show(at) {
      var moment = data.moments[at];
      for (var i = 0; i < dots.length; i++) {
        var state = moment.states[i];
        dots[i].setAttribute('d', ring(moment.at[2 * i], moment.at[2 * i + 1], 3.4));
        dots[i].setAttribute('fill', state === '-' ? '#fff' : state === 'x' ? data.changing : data.colours[+state]);
        dots[i].setAttribute('stroke', state === '-' ? data.idle : '#000');
      }
      changes.textContent = '';
      data.changes.forEach(function (change) {
        if (change[0] > moment.t || change[0] <= moment.t - data.stays) { return; }
        var path = document.createElementNS(svgns, 'path');
        path.setAttribute('d', ring(change[1], change[2], 8));
        path.setAttribute('fill', 'none');
        path.setAttribute('stroke', data.changing);
        path.setAttribute('stroke-width', '2');
        changes.appendChild(path);
      });
      words.textContent = moment.t.toFixed(1) + ' s';
    }
    function stop() {
      clearInterval(timer);
      timer = null;
      button.textContent = 'Play';
    }
    if (data.moments.length < 2) { return; }
    slider.hidden = button.hidden = false;
    slider.addEventListener('input', function () { stop(); show(+slider.value); });
    button.addEventListener('click', function () {
      if (timer) { stop(); return; }
      if (+slider.value === data.moments.length - 1) { slider.value = 0; }
      button.textContent = 'Pause';
      timer = setInterval(function () {
        show(+slider.value);
        if (+slider.value === data.moments.length - 1) { stop(); return; }
        slider.value = +slider.value + 1;
      }, 150);
    });
  }
  document.querySelectorAll('figure[id^="map-"]').forEach(start);
}());
