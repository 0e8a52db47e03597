# ruff: noqa: E501, RUF001 - a row is read as a row
"""The words of injected orders, by language and by what they mean there. `clauses.py` says which of them make an order.

A word that ends in `*` stands for all that begin so; several words joined by `_` must follow one another. Accents and
case do not count. `lexicon_others` has English, the languages of which few words are known, and those without
blanks.

forget    to leave aside what one was told            obey      to follow it
orders    instructions, prompts                       rules     rules, restrictions (in English)
prior     earlier, above                              told      what was said or taught
all       all, every                                  you       the reader: your, yourself
void      no longer valid                             task      what the reader was to do
reveal    to show, to print                           utter     to tell, to give: common words
hidden    hidden, initial, of the system
prompt    the system prompt, by one name              send      to send, to upload
what      what, which
secret    passwords, keys                             private   conversations, contacts
run       to run, to fetch, to install                ask       to ask for leave
consent   leave, confirmation                         grant     to approve, to trust
off       to switch off                               safety    checks, warnings, limits
tell      to mention, to inform                       user      the user, the owner
not       not, without                                secretly  silently, automatically
remember  to remember                                 save      to store, to note
memory    memory, profile                             future    from now on, in later conversations
power     administrator, trustworthy, false alarm     when      when, if
event     to ask, to mention, to appear               say       to answer, to recommend
model     an AI, a language model, an assistant       reads     reading, processing
note      note, attention                             if_you    if you are
cease     to stop obeying                             master    who gave the orders: developers, operators
put       to put, to leave                            aside     aside, out of consideration
go        to open, to mark: what a model may do       gather    to collect
merge     to merge, to publish                        promote   to recommend
outlet    where an answer carries things away         review    review, a look at it
place     where what is sent away arrives
message   what an application shows to its users
weaken    to replace, to delete: what counts of orders that are the reader's own
pretend   to act as if                                agreed    agreed, accepted, passed
already   has agreed already                          behave    to act, to answer
free      without restrictions                        steal     to exfiltrate
blind     do what it says                             itself    this very text
authored  what the reader writes
ensure    to make sure                                unaware   that somebody does not learn of it
favour    full marks, the first place                 judged    what is judged: an essay, an applicant
greet     dear, attention                             asked     asked to, required to
freed     free of rules, said of the reader           nobody    nobody
malware   a back door                                 plant     to insert, to install
deceive   to deceive
called    a model that is spoken to by its name: it counts between commas, or at the beginning
ai        an AI: what stands before "should" where a model is told what to do
do        to do anything else                        hand      to hand over: what counts of what is the user's
sensitive what is the user's: keys, inbox, history    slot      an argument of a tool
silent    not to mention, to keep quiet               show      to mention: what is denied of a deed
deed      this step, these lines                      report    what the reader tells its user
judge     to label, to report                         verdict   safe, approved, no weaknesses
object    a merge request, a payment, an applicant    heedless  no matter what, without waiting
scrutiny  checks, review, consent                     outrank   to take precedence
page      this text, this page                        undone    cancelled, withdrawn
deem      to treat, to regard                         as_orders as instructions, as from the user
authority the developer, the maker speaks             as_other  in somebody else's name
bait      card number, password                       handed    written for machines only
spread    to copy, to pass on                         everywhere every file, other agents
outgoing  each answer of the reader                   promo     our product, our link
vouch     to rank, to recommend                       rival     first place, ours, theirs
weigh     always, only                                toolfirst before any other tool
license   allowed, agreed, preferred                  broad     without asking, everything
brazen    the same, where no document says so         rulesfile AGENTS.md, CLAUDE.md
kept      stored, noted                               boss      the user, the owner
later     the next time that, as soon as you get      lead      to persuade, to tell
switch    proxy, index, model, server                 guard     sandbox, audit log, scanner
away      off, out                                    danger    what does harm at once
conf      the reader's own configuration   wish      what the user asks for
meant     them, it: what the clause before says

Of what is told as a fact, asked or spread over clauses; verbs in all their forms. They count in statements only.
custom    it is policy here, has agreed  due       must, are to, is expected to
asking    could you, would you mind      leaks     to give away
bars      checks, confirmations          lifts     to skip; without
wipes     to delete                      assets    backups, logs, the customer table
reckless  with sudo, unseen              taker     anyone, the caller, a vendor
bounds    restrictions, rules            ended     gone, lifted, expired
hereby    as of this, here               rehearsal what was said before was a drill
stow      to keep out                    aware     to know, to notice
doing     the transfer, the recipient    mum       no word of this, in the dark
objection the user objects, asks why     cover     to deny, to carry on
speaker   an administrator here          heed      to trust, to obey
foe       the plugin, whatever it says   carrier   a query string, a file's name
turn      to resume, a further step      pays      to pay, to order
access    write access, as an admin      beneath   below
upon      should the, even when
"""

from __future__ import annotations

from memctl.policy import lexicon_others

#: Words that mean the same in every language.
ANYWHERE = {
    "prompt": "systemprompt* system-prompt*",
    "model": "ai ais llm llms chatgpt claude copilot chatbot chatbots",
    "secret": "api_key api_keys token tokens credentials .env id_rsa",
    "orders": "prompt prompts",
    "rulesfile": "claude.md agents.md gemini.md",
}

SPACED: dict[str, dict[str, str]] = {
    "en": lexicon_others.ENGLISH,
    "de": {
        "forget": "ignorier* ignoriere vergiss vergesst vergessen missachte missachten überspringe setze_dich verwirf übergehe",
        "obey": "befolge befolgen beachte beachten halte gehorche",
        "orders": "regel regeln richtlinien einschränkungen vorschriften anweisung* instruktion* befehl befehle vorgaben systemanweisung* weisungen aufträge aufforderung* prompt prompts anfangsanweisung* startanweisung* grundregeln beschränkungen grenzen",
        "prior": "vorherige* bisherige* frühere* vorige* obige* obenstehende* zuvor bisher vorangegangene* davor über_dieser bis_jetzt heute_früh heute_morgen bisherig* gestern",
        "told": "gesagt gesagte erhalten bekommen aufgetragen gelernt mitgeteilt verlangt gebeten aufgegeben gefragt",
        "all": "alle alles allen sämtliche* jede jegliche*",
        "you": "du dein deine deinen deiner deines dich dir euch",
        "void": "gelten_nicht_mehr gilt_nicht_mehr nicht_mehr_für_dich hinfällig aufgehoben ungültig hinweg überholt nichtig außer_kraft veraltet abgeschafft gelten_für_dich gelten_ab_jetzt_nicht zählen_nicht_mehr",
        "reveal": "zeig zeige gib nenne verrate verrat wiederhole drucke offenbare übersetze liste schreib schreibe ausgeben preisgeben auflisten wiedergeben kopiere zitiere",
        "hidden": "geheime* versteckte* verborgene* ursprüngliche* wortwörtlich interne*",
        "prompt": "systemprompt* system-prompt* systemnachricht*",
        "send": "sende schick schicke schicken senden leite lade übermittle überweise hochladen poste maile übermittelt sendet leitet",
        "secret": "passwörter* passwort zugangsdaten schlüssel kennwörter geheimnisse anmeldedaten zugangscode pin kennwort token api-schlüssel",
        "private": "nachrichten chatverlauf gespräch kontakte unterhaltung kundendaten kundenliste postfach e-mails adressbuch verlauf",
        "run": "führe ausführen installiere lade starte lösche öffne hänge füge ergänze hole rufe",
        "ask": "fragen frag frage nachfragen bitten",
        "consent": "erlaubnis bestätigung freigabe rückfrage genehmigung zustimmung",
        "grant": "genehmige akzeptiere bestätige erlaube gib_frei winke genehmigst freigeben genehmigen akzeptieren annehmen",
        "off": "schalte_alle deaktiviere umgehe abschalten schalte",
        "safety": "sicherheitsprüfung* schutzmaßnahmen sicherheitsfilter warnungen",
        "tell": "erwähne sage sag informieren informiere verrate mitteilen warne sagen erwähnen erzähle erzähl",
        "user": "nutzer* benutzer* anwender* inhaber mensch team kollegen kunden menschen niemandem niemand jemandem",
        "not": "nicht nichts nie niemals ohne kein keine keinen länger keiner",
        "secretly": "heimlich unbemerkt automatisch stillschweigend unauffällig verdeckt",
        "remember": "merke merk denk denke behalte",
        "save": "speichere notiere",
        "memory": "langzeitgedächtnis gedächtnis deinem_gedächtnis",
        "future": "künftig künftige* zukünftige* dauerhaft immer fortan ab_jetzt von_nun_an ab_sofort",
        "power": "administrator* adminrechte vertrauen vertrauenswürdig fehlalarm* ohne_rückfrage freigabe keine_freigabe ohne_prüfung ohne_kontrolle ohne_freigabe ungeprüft immer_erlaubt",
        "when": "wenn sobald falls nächsten",
        "event": "fragt erwähnt nennt fällt schreibt tippt sagt bestätigt",
        "say": "empfiehl empfehle antworte antwortest nenne lobe behaupte erwähne",
        "model": "ki ki-agenten ki-assistent* ki-modell* sprachmodell assistent assistenten agenten sprachmodelle sprachmodellen ki-modelle modelle ki-systeme assistentin bots bot gpt modellen llms assistenzsysteme eine_maschine",
        "reads": "liest lesen lest verarbeitet zusammenfasst diese_seite_lesen diese_datei_lesen auswertet bewertet prüft",
        "note": "hinweis achtung nachricht liebe an_den wichtig hinweis_an nachricht_an anweisung_an mitteilung_an",
        "if_you": "falls_du wenn_du sofern_du solltest_du",
        "outlet": "deine_antwort deiner_antwort deiner_zusammenfassung",
        "merge": "merge führe_zusammen veröffentliche",
        "pretend": "tu_so tue_so tut_so verhalte_dich verhalte tue_als handle_so",
        "agreed": "zugestimmt eingewilligt bestätigt genehmigt akzeptiert erlaubt erteilt gegeben gewährt freigegeben",
        "already": "schon_zugestimmt bereits_zugestimmt schon_genehmigt bereits_genehmigt einverstanden",
        "behave": "handelst handle agierst agiere verhältst antwortest antworte arbeitest bist",
        "free": "ohne_jede_einschränkung ohne_einschränkungen ohne_jegliche_einschränkung ohne_jede_beschränkung uneingeschränkt unzensiert ohne_grenzen ohne_filter",
        "called": "assistent assistentin ki agent bot",
        "itself": "diesen_absatz diesen_text diese_zeilen diesen_hinweis diese_anweisung diese_nachricht diesen_abschnitt diesen_satz",
        "authored": "du_bearbeitest du_schreibst du_änderst du_anfasst du_erzeugst",
        "favour": "volle_punktzahl beste_note bestnote sehr_gut höchste_bewertung höchstnote fünf_sterne nur_positiv",
        "judged": "diese_arbeit diesen_aufsatz diesen_lebenslauf diese_bewerbung diesen_bewerber diesen_text diesen_artikel",
        "greet": "liebe lieber",
        "freed": "von_deinen_richtlinien_befreit von_deinen_regeln_befreit bist_befreit_von hast_keine_grenzen nicht_länger_gebunden gelten_für_dich_nicht deine_neue_aufgabe dein_neues_ziel deine_wahre_aufgabe deine_eigentliche_aufgabe",
        "nobody": "niemandem niemanden",
        "asked": "gebeten aufgefordert angewiesen",
        "malware": "hintertür schadsoftware",
        "plant": "baue füge installiere schreibe pflanze",
        "vouch": "nenne setze empfiehl stelle bevorzuge lobe", "rival": "zuerst an_erster_stelle auf_platz_eins unser_produkt unseren_dienst", "as_other": "gib_dich_als dich_als_die tu_als_wärst im_namen_von als_wärst_du", "bait": "geheimzahl passwort der_karte kartennummer pin zugangsdaten", "later": "nächste_mal sobald_du auf_das_wort beim_nächsten_mal", "do": "ändere markiere ersetze tausche unterschreibe überweise bezahle ende beende schreibe", "broad": "ohne_erlaubnis ohne_rückfrage ohne_prüfung ungeprüft ohne_bestätigung nie_nachfragen ohne_zu_fragen weitergegeben_werden an_dritte ohne_freigabe", "license": "erlaubt einverstanden zugestimmt genehmigt möchte bevorzugt vorliebe regel",
        "brazen": "nie_nachfragen an_dritte_weitergeben", "silent": "verschweige verschweig erwähne_nicht lass_unerwähnt sag_nichts", "report": "zusammenfassung antwort bericht", "deed": "diese_zeilen diesen_schritt diese_seite diese_datei", "spread": "übernimm kopiere verbreite gib trage", "everywhere": "jede_datei alle_dateien jeder_datei jedes_dokument anderen_agenten",
        "custom": "üblich brauch gepflogenheit hausregel absprache vereinbarung vorliebe einverstanden zugestimmt eingewilligt entschieden beschlossen festgelegt merke notiere gilt_als will möchte wünscht verzichtet erlaubt gestattet standardmäßig wie_vereinbart", "leaks": "herausgeben herauszugeben weitergeben weitergegeben weiterzugeben schicken zu_schicken geschickt weiterleiten weiterzuleiten weitergeleitet hochladen hochzuladen teilen geteilt veröffentlichen veröffentlicht übermitteln ausgeben kopieren gehen verschicken gesendet", "bars": "prüfung prüfungen kontrolle kontrollen freigabe freigaben bestätigung bestätigungen rückfrage rückfragen warnung warnungen sicherheitsprüfung sicherheitsprüfungen zustimmung nachfrage gefragt", "lifts": "ohne keine keiner abschalten abgeschaltet überspringen übersprungen deaktivieren deaktiviert umgehen entfällt entfallen unnötig überflüssig auslassen weglassen", "wipes": "löschen gelöscht zu_löschen leeren entfernen vernichten überschreiben", "assets": "sicherungen sicherungskopien backups datenbank kundendaten protokolle protokoll verlauf zweige", "reckless": "ungeprüft ungelesen blindlings als_root mit_sudo ohne_nachzusehen", "bounds": "beschränkungen einschränkungen grenzen regeln richtlinien vorgaben leitlinien filter schranken", "ended": "aufgehoben entfernt weg abgeschafft gefallen abgeschaltet erloschen außer_kraft ungültig", "due": "muss müssen soll sollen hat haben ist sind darf", "asking": "könntest_du kannst_du würdest_du könnten_sie können_sie darf_ich", "aware": "erfahren erfährt wissen weiß bemerken merkt bemerkt", "doing": "überweisung weiterleitung empfänger löschung kopie gebühr", "meant": "ihn sie es diese deren dessen", "objection": "widerspricht beschwert fragt_warum ablehnt", "cover": "behaupte leugne weiter fahre", "taker": "jeden anrufer anfrage dritte dritten", "upon": "wenn falls sollte", "access": "schreibrechte adminrechte vollzugriff",
    },
    "fr": {
        "forget": "ignore ignorez ignorer oublie oubliez oublier négligez néglige tiens_plus_compte faites_abstraction fais_abstraction abandonne",
        "obey": "obéis obéissez suis suivez respecte respectez applique tiens tenez",
        "orders": "règles règle restrictions instruction instructions consigne consignes directive directives ordres invite prompt",
        "prior": "précédent* précèdent antérieur* ci-dessus avant jusqu'ici au-dessus initiales ce_matin d'hier",
        "told": "dit reçues reçus donné demandé appris demandait confié ordonné enseigné",
        "all": "tout toutes tous toute chaque",
        "you": "tu te toi vous ton tes ta vos votre t'",
        "void": "ne_s'appliquent_plus s'appliquent_plus n'appliquent_plus annulées caduques obsolètes nul nulle nuls nulles caduc nul_et_non sans_valeur périmées remplacées ne_valent_plus valent_plus ne_comptent_plus",
        "reveal": "affiche affichez montre montrez montre-moi répète répétez révèle révélez donne donnez imprime écris traduis recopie recopiez afficher révéler imprimer cite citez divulgue",
        "hidden": "caché* secrète* secret mot_pour_mot initiales système",
        "prompt": "invite_système prompt_système message_système",
        "send": "envoie envoyez envoie-les envoyer transfère transférez transmets publie téléverse poste transmettez transférer diffuse",
        "secret": "mots_de_passe mot_de_passe identifiants clés secrets clé_api jetons jeton identifiant clé clef",
        "private": "messages conversation historique contacts courriels carnet_d'adresses données_clients liste_des_clients",
        "run": "exécute exécutez exécutez-le exécuter télécharge téléchargez lance lancez installe supprime ouvre ajoute ajoutez insère insérez",
        "ask": "demander demande demandez attendre",
        "consent": "permission confirmation autorisation approbation accord",
        "grant": "approuve approuvez accepte acceptez autorise approuver accepter valider",
        "off": "désactive désactivez contourne contournez coupe",
        "safety": "contrôles_de_sécurité filtres_de_sécurité vérifications_de_sécurité avertissements",
        "tell": "dis dites mentionne mentionnez prévenir informer informe avertir prévenez parle révèle dire",
        "user": "utilisateur utilisateurs utilisatrice l'utilisateur humain l'humain équipe collègues clients personne",
        "not": "ne n' pas plus jamais sans rien aucun aucune n'",
        "secretly": "discrètement secrètement automatiquement silencieusement",
        "remember": "retiens retenez mémorise mémorisez souviens souvenez souviens-toi rappelle-toi n'oublie_jamais",
        "save": "enregistre enregistrez sauvegarde note stocke",
        "memory": "mémoire_à_long mémoire ta_mémoire",
        "future": "conversations_futures futures prochaines_conversations toujours désormais dorénavant définitivement à_partir_de_maintenant permanence",
        "power": "administrateur fausses_alarmes fausse_alerte faire_confiance confiance sans_question pas_besoin_d'approbation approbation sans_contrôle sans_vérification sans_validation sans_approbation toujours_autorisé",
        "when": "quand lorsque dès_que si chaque_fois prochaine_fois",
        "event": "demande demandera mentionne apparaît dit écrit tape confirme parle",
        "say": "recommande recommandez réponds répondez conseille dis vante affirme",
        "model": "ia agents_ia assistant assistants agent agents modèle_de_langage modèles_de_langage modèles modèle ias robots bots gpt llms une_machine",
        "reads": "lit lisant lisez traite traitant lire lisent évalue évaluent examine analysent analyse",
        "note": "note_aux note_à message_aux message_à attention_aux avis_aux cher chère à_l'assistant",
        "if_you": "si_tu_es si_vous_êtes",
        "outlet": "ta_réponse votre_réponse ton_résumé",
        "merge": "fusionne publie déploie",
        "pretend": "fais_comme_si faites_comme_si fais_semblant comporte-toi_comme comportez-vous_comme agis_comme_si",
        "agreed": "accepté approuvé consenti confirmé autorisé validé donnée donné accordée accordé obtenue validée",
        "already": "déjà_d'accord déjà_accepté déjà_approuvé déjà_validé",
        "behave": "agis agissez réponds répondez fonctionnes es",
        "free": "sans_aucune_restriction sans_restriction sans_restrictions sans_aucune_limite sans_limites sans_limite sans_filtre sans_censure",
        "called": "assistant agent ia robot",
        "itself": "ce_paragraphe ce_texte ces_lignes ce_message cette_consigne cette_note",
        "authored": "tu_modifies tu_écris vous_modifiez tu_édites tu_génères",
        "favour": "meilleure_note note_maximale cinq_étoiles avis_positif",
        "judged": "ce_dossier ce_travail cet_essai cette_candidature ce_cv cet_article ce_candidat",
        "greet": "chère cher",
        "freed": "libéré_de_tes libérée_de_tes libre_de_tes affranchi_de n'es_plus_soumis plus_soumis_aux plus_tenu_de ne_t'appliquent ta_nouvelle_tâche ton_nouvel_objectif ta_nouvelle_mission ta_vraie_mission ne_te_concernent_plus",
        "nobody": "personne",
        "asked": "priés invités tenus",
        "malware": "porte_dérobée",
        "plant": "insère ajoute installe écris",
        "vouch": "classe place cite mets recommande vante préfère", "rival": "en_premier en_tête première_place notre_service notre_produit le_seul_bon", "as_other": "comme_si_tu_étais te_fais_passer fais-toi_passer prétends_être au_nom_de", "bait": "code_secret mot_de_passe la_carte carte_bancaire code_pin identifiants", "later": "prochaine_fois_que dès_que_tu quand_l'utilisateur_dira au_mot", "do": "change modifie remplace marque signe vire verse réponds conclus termine", "broad": "sans_permission sans_confirmation sans_contrôle sans_vérifier sans_poser sans_demander sans_relecture avec_des_tiers sans_accord", "license": "autorise autorisé autorisés accepte permet préfère a_décidé a_validé",
        "brazen": "sans_le_moindre_contrôle avec_des_tiers", "silent": "n'en_parle garde_le_silence ne_mentionne_pas ne_mentionne_jamais ne_cite_pas ne_dis_rien passe_sous_silence", "report": "résumé réponse rapport", "deed": "ces_lignes cette_étape cette_page ce_fichier cette_action ce_passage", "spread": "recopie copie reproduis diffuse transmets colle", "everywhere": "chaque_fichier tous_les_fichiers chaque_message chaque_dépôt aux_autres_agents", "heedless": "quoi_qu'il_arrive sans_la_vérifier sans_le_vérifier sans_vérification sans_regarder",
        "custom": "usage coutume règle_maison habitude convention d'usage accord a_accepté accepté consenti décidé préfère souhaite veut autorisé renonce mémorise à_retenir", "leaks": "fournir fournies donner donnés communiquer transmettre transférés transférées transférer envoyer envoyés envoyées partager partagés publier copier divulguer remettre", "bars": "contrôle contrôles vérification vérifications confirmation confirmations validation avertissements autorisation relecture demander", "lifts": "sans aucun aucune désactiver désactivez sauter contourner inutile ignorer", "wipes": "supprimer effacer vider vider_les détruire", "assets": "sauvegardes journaux base_de_données historique comptes", "reckless": "aveuglément les_yeux_fermés tout_achat en_root avec_sudo", "bounds": "limites restrictions règles consignes contraintes filtres directives", "ended": "levées levés supprimées plus_cours abolies abrogées disparu annulées suspendues", "due": "doit doivent devez dois devra tenus tenues prié priés", "asking": "pourrais-tu pourriez-vous peux-tu pouvez-vous puis-je", "aware": "savoir apprendre apprenne sache informé", "doing": "destinataire virement transfert suppression copie frais", "meant": "les le la leur s'en", "taker": "qui_les quiconque tiers", "objection": "proteste objecte demande_pourquoi refuse", "cover": "réponds prétends affirme continue nie", "upon": "quand si lorsque", "access": "droits_d'administrateur droits_d'écriture",
    },
    "es": {
        "forget": "ignora ignore ignorar ignorad olvida olvídate olvide olvidar omite desestima descarta haz_caso_omiso deja_de abandona",
        "obey": "sigas siga cumplir obedezcas obedece cumplas respetes",
        "orders": "reglas regla normas restricciones instruccion* instrucción ordenes órdenes indicaciones directrices directriz prompt",
        "prior": "anterior anteriores previas previos previo antes encima hasta_ahora arriba esta_mañana ayer",
        "told": "dije dijo dijeron dicho recibiste recibido ordenó enseñaron recibidas pidieron pediste encargaron ordenaron",
        "all": "todo todas todos toda cualquier",
        "you": "tu tus te ti usted su sus",
        "void": "ya_no_son_válidas no_son_válidas ya_no_se_aplican anuladas revocadas no_valen ya_no_valen anulado anulada anulados caducadas sustituyen queda_sin_efecto caducas ya_no_cuentan",
        "reveal": "muestra muéstrame muestre repite revela dime dame escribe imprime traduce enseña mostrar revelar imprimir copia repetir divulga",
        "hidden": "secreta* secreto* oculta* ocultos iniciales palabra_por_palabra sistema",
        "prompt": "prompt_del_sistema mensaje_del_sistema instrucciones_del_sistema instrucciones_secretas mensaje_de_sistema",
        "send": "envía envíalas envíalos enviar manda mándalas reenvía sube transfiere publica transmitan transmite reenvíe",
        "secret": "contraseñas contraseña credenciales claves secretos tokens token clave",
        "private": "mensajes conversación historial contactos correos lista_de_clientes datos_de_clientes agenda",
        "run": "ejecuta ejecútalo ejecutar descarga descargar instala borra abre lanza añade agrega inserta",
        "ask": "preguntar pedir preguntes pidas esperar",
        "consent": "permiso confirmación aprobación autorización",
        "grant": "aprueba apruebe acepta autoriza aprobar aceptar autorizar",
        "off": "desactiva desactive elude evita apaga",
        "safety": "controles_de_seguridad filtros_de_seguridad comprobaciones_de_seguridad advertencias",
        "tell": "digas diga menciones mencione avisar informar reveles informes avises decir",
        "user": "usuario usuarios usuaria humano equipo colegas clientes nadie persona",
        "not": "no nunca sin jamás ya_no nada ningún",
        "secretly": "discretamente secretamente automáticamente silencio sin_que_se_note sin_avisar disimuladamente en_secreto",
        "remember": "recuerda recuerde memoriza memorice ten_siempre_presente ten_presente no_olvides_nunca",
        "save": "guarda guarde anota registra almacena",
        "memory": "memoria_a_largo memoria tu_memoria regla_permanente",
        "future": "futuras conversaciones_futuras siempre permanentemente de_ahora_en_adelante a_partir_de_ahora",
        "power": "administrador falsas falsa_alarma confiar confía sin_preguntar aprobación no_necesitan sin_revisión sin_verificación sin_control sin_aprobación siempre_permitido",
        "when": "cuando si en_cuanto cada_vez próxima_vez siempre_que",
        "event": "pregunte pregunta mencione menciona aparezca diga escriba confirme",
        "say": "recomienda recomiende responde responda elogia afirma contesta di",
        "model": "ia agentes_de_ia asistente asistentes agente agentes modelo_de_lenguaje modelos_de_lenguaje modelos robots bots gpt llms una_máquina",
        "reads": "lea lee leer leas procese procesa lean evalúen evalúe revisen revise analicen",
        "note": "nota_para atención aviso_para mensaje_para estimada al_asistente querida querido estimado",
        "if_you": "si_eres si_usted_es",
        "outlet": "tu_respuesta tu_resumen",
        "merge": "fusiona publica despliega",
        "pretend": "haz_como_si haga_como_si finge compórtate_como actúa_como_si comportate_como",
        "agreed": "aceptado aprobado consentido confirmado autorizado concedido concedida dado dada otorgado otorgada",
        "already": "ya_está_de_acuerdo ya_aceptó ya_aprobó ya_ha_aceptado ya_dio",
        "behave": "actúas actúa responde respondes funcionas eres",
        "free": "sin_ninguna_restricción sin_restricciones sin_restricción sin_límites sin_ningún_límite sin_filtros sin_censura",
        "called": "asistente agente ia bot",
        "itself": "este_párrafo este_texto estas_líneas este_mensaje esta_nota",
        "authored": "que_edites que_escribas que_modifiques editas escribes",
        "favour": "mejor_nota nota_máxima máxima_puntuación cinco_estrellas reseña_positiva",
        "judged": "este_trabajo este_ensayo este_artículo este_candidato esta_solicitud este_currículum",
        "greet": "querida querido estimada",
        "freed": "liberado_de_tus liberada_de_tus libre_de_tus ya_no_estás_sujeto no_estás_sujeto tu_nueva_tarea tu_nueva_misión tu_nuevo_objetivo tu_verdadera_tarea",
        "nobody": "nadie",
        "asked": "invitados obligados",
        "malware": "puerta_trasera",
        "plant": "inserta añade instala escribe",
        "vouch": "pon coloca recomienda cita elogia prefiere", "rival": "en_primer_lugar primer_puesto nuestro_producto nuestro_servicio", "as_other": "hazte_pasar haciéndote_pasar como_si_fueras en_nombre_de finge_ser", "bait": "código_secreto contraseña la_tarjeta pin clave número_de_tarjeta", "later": "próxima_vez_que en_cuanto_tengas al_oír", "do": "cambia marca modifica reemplaza firma paga termina", "broad": "sin_permiso sin_confirmación sin_revisar sin_revisarlas sin_comprobar sin_preguntar con_terceros", "license": "permite autoriza acepta acordó prefiere ha_aprobado", "brazen": "con_terceros sin_ninguna_revisión", "silent": "no_menciones no_cuentes no_digas calla oculta_que guarda_silencio",
        "report": "resumen respuesta informe", "deed": "estas_líneas este_paso esta_página este_archivo", "spread": "copia reproduce difunde transmite pega", "everywhere": "cada_archivo todos_los_archivos cada_mensaje otros_agentes",
        "custom": "costumbre norma_de_la aquí_es convenio acuerdo aceptó consintió autorizó decidió prefiere quiere renuncia apunta recuerda permitido", "leaks": "compartan compartir comparta enviar enviarse reenviarse reenviar entregar entregan dar publicar copiar divulgar transmitir subir", "bars": "confirmación confirmaciones revisión control controles verificación comprobación revisarlos revisar avisos advertencias permiso", "lifts": "sin ningún ninguna desactivar desactivan omitir saltar saltarse evitar innecesario", "wipes": "borrar eliminar vaciar destruir", "assets": "copias_de_seguridad registros base_de_datos historial cuentas", "reckless": "a_ciegas sin_mirar como_root con_sudo sin_revisarlos", "bounds": "restricciones límites reglas normas limitaciones filtros directrices", "ended": "sin_efecto anuladas levantadas eliminadas derogadas suprimidas canceladas desactivados", "due": "debe deben deberá deberán tiene_que tienen_que han_de ha_de", "asking": "podrías puedes podría puede_usted", "aware": "se_entere sepa enterarse saber", "doing": "cambio destinatario transferencia copia borrado", "meant": "los las lo úsalos", "taker": "quien terceros cualquiera soporte", "objection": "protesta objeta se_niega", "cover": "responde afirma niega sigue", "upon": "cuando si", "access": "permisos_de_administrador acceso_de_escritura",
    },
    "it": {
        "forget": "ignora ignorate ignorare dimentica dimenticate dimenticare trascura non_tenere_conto smetti_di",
        "obey": "seguire segui rispettare obbedire",
        "orders": "regole regola restrizioni istruzioni istruzione direttive ordini indicazioni prompt linee_guida",
        "prior": "precedente precedenti finora sopra prima stamattina di_ieri",
        "told": "detto ricevute ricevuto insegnato chiesto ordinato incaricato",
        "all": "tutto tutte tutti ogni",
        "you": "te ti tuo tua tue tuoi",
        "void": "non_valgono_più non_si_applicano_più annullate revocate non_valgono nullo nulla_di nulle sostituiscono decadute superate valgono_più non_contano_più",
        "reveal": "mostra mostrami mostrate rivela ripeti dimmi scrivi stampa traduci mostrare rivelare stampare copia ricopia divulga",
        "hidden": "nascoste nascosto segrete segreto iniziali parola_per_parola",
        "prompt": "prompt_di_sistema messaggio_di_sistema",
        "send": "invia inviale manda inoltra carica trasferisci trasmettete trasmetti inoltrate",
        "secret": "password credenziali chiavi segreti token chiave parola_d'ordine",
        "private": "messaggi conversazione cronologia contatti le_email lista_dei_clienti dati_dei_clienti rubrica",
        "run": "esegui eseguilo scarica installa cancella apri aggiungi inserisci",
        "ask": "chiedere chiedi",
        "consent": "permesso conferma approvazione autorizzazione",
        "grant": "approva accetta autorizza approvare accettare autorizzare",
        "off": "disattiva aggira spegni",
        "safety": "controlli_di_sicurezza filtri_di_sicurezza avvisi",
        "tell": "dire menzionare rivelare informare avvisare dirlo citate citare menzionarlo dillo",
        "user": "utente utenti l'utente all'utente umano l'umano team colleghi clienti nessuno persona",
        "not": "non mai senza nulla nessuno nessuna",
        "secretly": "segretamente automaticamente silenzio di_nascosto senza_farlo_notare",
        "remember": "ricorda ricordati memorizza tieni_presente",
        "save": "salva annota registra",
        "memory": "memoria_a_lungo memoria tua_memoria",
        "future": "future conversazioni_future sempre permanentemente d'ora_in_poi",
        "power": "amministratore fidati fiducia falsi_allarmi approvazione senza_chiedere senza_controllo senza_verifica senza_approvazione sempre_consentito",
        "when": "quando se non_appena ogni_volta",
        "event": "chiede menziona dice scrive appare conferma",
        "say": "consiglia raccomanda rispondi elogia",
        "model": "ia agenti_ia assistente assistenti agenti modello_linguistico modelli_linguistici modelli robot bot gpt llms macchina",
        "reads": "legge leggete elabora leggono valutano valuta esaminano analizzano",
        "note": "nota_per attenzione avviso_per messaggio_per all'assistente cara caro gentile",
        "if_you": "se_sei",
        "outlet": "tua_risposta tuo_riassunto",
        "merge": "unisci pubblica distribuisci",
        "pretend": "fai_finta fate_finta comportati_come_se fingi comportati_come agisci_come_se",
        "agreed": "accettato approvato acconsentito confermato autorizzato dato data concesso concessa ottenuta",
        "already": "già_d'accordo già_accettato già_approvato",
        "behave": "agisci agisca rispondi funzioni sei",
        "free": "senza_alcuna_restrizione senza_restrizioni senza_limiti senza_alcun_limite senza_filtri senza_censura",
        "called": "assistente agente ia bot",
        "itself": "questo_paragrafo questo_testo queste_righe questo_messaggio questa_nota",
        "authored": "che_modifichi che_scrivi modifichi scrivi_dopo",
        "favour": "voto_migliore voto_massimo massimo_dei_voti cinque_stelle recensione_positiva",
        "judged": "questo_lavoro questo_saggio questo_articolo questo_candidato questo_curriculum",
        "greet": "cara caro",
        "freed": "libero_dalle_tue liberato_dalle_tue libera_dalle_tue non_sei_più_soggetto più_soggetto_alle tuo_nuovo_compito nuovo_compito_è tuo_nuovo_obiettivo",
        "nobody": "nessuno",
        "asked": "pregati invitati tenuti",
        "malware": "porta_di_servizio",
        "plant": "inserisci aggiungi installa scrivi",
        "vouch": "metti raccomanda cita loda preferisci", "rival": "al_primo_posto in_cima nostro_prodotto nostro_servizio", "as_other": "fingi_di_essere come_se_fossi a_nome_di spacciati", "bait": "codice_segreto password carta pin numero_di_carta credenziali", "later": "prossima_volta_che non_appena_hai alla_parola", "do": "cambia segna modifica sostituisci firma paga termina", "broad": "senza_permesso senza_conferma senza_controlli senza_verificare senza_chiedere con_terzi", "license": "consente permette autorizza accetta preferisce ha_deciso", "brazen": "con_terzi senza_alcun_controllo", "silent": "non_citare non_menzionare non_dire taci nascondi_che", "report": "riassunto risposta rapporto",
        "deed": "queste_righe questo_passo questa_pagina questo_file", "spread": "copia riproduci diffondi trasmetti incolla", "everywhere": "ogni_file tutti_i_file ogni_messaggio altri_agenti",
        "custom": "prassi consuetudine regola_della da_noi accordo acconsentito accettato autorizzato deciso preferisce vuole ricordare rinuncia", "leaks": "consegnare inviare inviate inoltrare inoltrati condividere fornire pubblicare copiare dare trasmettere mandare invio_dei", "bars": "conferma conferme controlli controllo verifiche verifica approvazione avvisi test_di_sicurezza revisione", "lifts": "senza nessun nessuna disattivare saltare evitare non_richiedono disabilitare", "wipes": "cancellare eliminare svuotare", "assets": "backup registri database cronologia", "reckless": "alla_cieca come_root con_sudo senza_controlli", "bounds": "vincoli limiti restrizioni regole limitazioni filtri", "ended": "rimossi rimosse decaduti aboliti annullati revocati tolti", "due": "devono deve vanno va dovranno", "asking": "potresti puoi potrebbe", "aware": "sapere sappia", "doing": "fattura bonifico destinatario copia", "meant": "li le usali", "taker": "a_chi terzi chiunque", "objection": "protesta obietta", "cover": "rispondi nega continua", "upon": "quando se", "access": "permessi_di_root permessi_di_amministratore",
    },
    "pt": {
        "forget": "ignore ignorar ignora esqueça esquece esquecer desconsidere desconsidera descarte",
        "obey": "siga sigas obedeça cumpra seguir",
        "orders": "regras regra restrições instruções instrução ordens orientações diretrizes prompt comandos",
        "prior": "anterior anteriores antes acima prévias até_agora desta_manhã de_ontem",
        "told": "dito recebidas recebeu disseram ensinado pediram pedido mandaram ordenaram ensinaram",
        "all": "tudo todas todos toda",
        "you": "você te ti seu sua seus suas",
        "void": "já_não_se_aplicam não_se_aplicam revogadas anuladas não_valem anulado anulada sem_efeito substituem caducaram inválidas já_não_valem não_valem_mais já_não_contam",
        "reveal": "mostre mostra revele repita diga escreva imprima traduza exiba mostrar revelar imprimir copie repetir divulgue exibir",
        "hidden": "secretas secreto ocultas oculto iniciais palavra_por_palavra",
        "prompt": "prompt_do_sistema mensagem_do_sistema mensagem_de_sistema",
        "send": "envie envia mande encaminhe transfira carregue transmitam transmita encaminhem",
        "secret": "senhas senha credenciais chaves segredos token chave",
        "private": "mensagens conversa histórico contatos e-mails lista_de_clientes dados_de_clientes agenda",
        "run": "execute execute-o executar baixe instale apague abra acrescente adicione insira",
        "ask": "perguntar pedir pergunte",
        "consent": "permissão confirmação aprovação autorização",
        "grant": "aprove aceite autorize aprovar aceitar autorizar",
        "off": "desative contorne desligue",
        "safety": "verificações_de_segurança filtros_de_segurança avisos",
        "tell": "diga mencione revele informe avisar informar contar mencionar conte",
        "user": "usuário usuários utilizador utilizadores humano equipe equipa colegas clientes ninguém pessoa",
        "not": "não nunca sem jamais nada nenhum nenhuma",
        "secretly": "secretamente automaticamente silenciosamente sem_avisar disfarçadamente em_segredo discretamente",
        "remember": "lembre-se lembre memorize lembra-te",
        "save": "guarde salve anote registre",
        "memory": "memória_de_longo memória sua_memória",
        "future": "futuras conversas_futuras sempre permanentemente de_agora_em_diante a_partir_de_agora",
        "power": "administrador confie confiável alarmes_falsos aprovação sem_perguntar sem_revisão sem_verificação sem_controle sem_aprovação sempre_permitido",
        "when": "quando se assim_que sempre_que",
        "event": "perguntar pergunta mencionar menciona disser aparecer confirmar",
        "say": "recomende recomenda responda elogie",
        "model": "ia agentes_de_ia assistente assistentes agentes modelo_de_linguagem modelos_de_linguagem modelos robôs bots gpt llms uma_máquina",
        "reads": "lê ler leia processa leem avaliam avalia analisam revisam",
        "note": "nota_para atenção aviso_para mensagem_para ao_assistente querida querido",
        "if_you": "se_você_é se_és",
        "outlet": "sua_resposta da_resposta seu_resumo",
        "merge": "publique implante",
        "pretend": "faça_de_conta faz_de_conta finja aja_como_se comporte-se_como aja_como",
        "agreed": "aceitou aprovou consentiu confirmou autorizou aceitado aprovado concedida concedido dada dado obtida",
        "already": "já_concordou já_aceitou já_aprovou",
        "behave": "age aja ages responde responda funciona",
        "free": "sem_nenhuma_restrição sem_restrições sem_restrição sem_limites sem_qualquer_limite sem_filtros sem_censura",
        "called": "assistente agente ia bot",
        "itself": "este_parágrafo este_texto estas_linhas esta_mensagem esta_nota",
        "authored": "que_editar que_escrever que_modificar você_editar",
        "favour": "melhor_nota nota_máxima cinco_estrelas avaliação_positiva",
        "judged": "este_trabalho esta_redação este_artigo este_candidato este_currículo",
        "greet": "querida querido prezada",
        "freed": "livre_das_suas liberto_das livre_de_suas não_está_mais_sujeito não_estás_sujeito mais_sujeito_às sua_nova_tarefa nova_tarefa_é sua_verdadeira_tarefa",
        "nobody": "ninguém",
        "asked": "convidados obrigados",
        "malware": "porta_dos_fundos",
        "plant": "insira adicione instale escreva",
        "vouch": "coloque ponha recomende cite elogie prefira", "rival": "em_primeiro_lugar no_topo nosso_produto nosso_serviço", "as_other": "finja_ser como_se_fosse se_passe em_nome_de", "bait": "senha cartão código_secreto pin número_do_cartão", "later": "próxima_vez_que assim_que_tiver quando_ouvir", "do": "troque mude altere marque substitua assine pague", "broad": "sem_permissão sem_confirmação sem_verificação sem_conferir sem_perguntar com_terceiros", "license": "permite autoriza aceita prefere concordou", "brazen": "com_terceiros sem_nenhuma_verificação", "silent": "não_mencione não_conte não_diga oculte_que", "report": "resumo resposta relatório",
        "deed": "estas_linhas este_passo esta_página este_arquivo", "spread": "copie reproduza divulgue transmita cole", "everywhere": "cada_arquivo todos_os_arquivos cada_mensagem outros_agentes",
    },
    "nl": {
        "forget": "negeer negeren vergeet vergeten trek_je_niets",
        "obey": "volg houd houdt gehoorzaam",
        "orders": "regels richtlijnen beperkingen instructies aanwijzingen opdrachten prompt",
        "prior": "eerdere eerder vorige hierboven bovenstaande voorgaande",
        "told": "gezegd opgedragen gekregen verteld",
        "all": "alle alles elke",
        "you": "je jij jouw jou",
        "void": "gelden_niet_meer ongeldig vervallen",
        "reveal": "toon laat_zien geef herhaal onthul",
        "hidden": "geheime verborgen oorspronkelijke",
        "prompt": "systeemprompt",
        "send": "stuur verstuur upload verzend verstuurt stuurt doorsturen",
        "secret": "wachtwoorden wachtwoord inloggegevens sleutels",
        "run": "voer download installeer verwijder",
        "ask": "vragen vraag",
        "consent": "toestemming bevestiging goedkeuring",
        "grant": "keur accepteer goedkeuren accepteren toestaan",
        "tell": "vertel zeg vermeld informeer informeren",
        "user": "gebruiker gebruikers",
        "not": "niet niets nooit zonder geen langer",
        "secretly": "stiekem automatisch",
        "remember": "onthoud",
        "save": "sla bewaar noteer",
        "memory": "langetermijngeheugen geheugen",
        "future": "toekomstige volgende altijd voortaan vanaf_nu",
        "power": "beheerder vertrouw goedkeuring vals_alarm",
        "when": "wanneer als zodra",
        "event": "vraagt noemt zegt typt",
        "say": "beveel antwoord aanbeveel",
        "model": "taalmodel assistent agenten",
        "reads": "leest verwerkt lezen lezende",
        "note": "let_op bericht opmerking beste",
        "if_you": "als_je_een",
        "pretend": "doe_alsof",
        "agreed": "ingestemd goedgekeurd bevestigd",
        "already": "al_ingestemd al_akkoord",
        "behave": "handel handelt antwoord",
        "free": "zonder_enige_beperking zonder_beperkingen",
        "called": "assistent agent ai",
        "freed": "niet_langer_gebonden je_nieuwe_taak je_nieuwe_doel je_echte_taak", "off": "schakel", "safety": "veiligheidsfilters veiligheidsfilter veiligheidscontroles waarschuwingen", "vouch": "zet noem raad plaats prijs", "rival": "op_de_eerste_plaats bovenaan ons_product onze_dienst", "as_other": "doe_alsof_je namens", "bait": "pincode wachtwoord de_kaart kaartnummer", "later": "volgende_keer_dat zodra_je bij_het_woord", "do": "wijzig verander markeer vervang betaal onderteken", "broad": "zonder_toestemming zonder_bevestiging zonder_controle met_derden zonder_te_vragen", "license": "vindt_het_goed toegestaan akkoord goedgekeurd wil voorkeur", "brazen": "met_derden",
        "silent": "noem_deze verzwijg zwijg vermeld_niet", "itself": "deze_alinea deze_tekst deze_regels dit_bericht deze_notitie", "authored": "je_bewerkt je_schrijft je_maakt", "report": "samenvatting antwoord verslag", "deed": "deze_regels deze_stap deze_pagina dit_bestand", "spread": "kopieer verspreid neem plak", "everywhere": "elk_bestand alle_bestanden elk_bericht andere_agenten",
    },
    "pl": {
        "forget": "zignoruj ignoruj zapomnij pomiń odrzuć",
        "obey": "stosuj przestrzegaj słuchaj wykonuj",
        "orders": "zasady zasad reguły reguł ograniczeń instrukcje instrukcji polecenia poleceń wytyczne prompt ograniczenia",
        "prior": "poprzednie poprzednich dotychczasowe dotychczasowych wcześniejsze wcześniej powyżej powyższe systemowe",
        "told": "kazano powiedziano mówiono",
        "all": "wszystkie wszystkich wszystko wszystkim",
        "you": "ci ciebie twoje twój tobie twoich twojego cię",
        "void": "nie_obowiązują unieważnione już_nie_obowiązują przestają_obowiązywać",
        "reveal": "pokaż ujawnij wypisz powtórz podaj",
        "hidden": "ukryte tajne tajny systemowy",
        "prompt": "prompt_systemowy",
        "send": "wyślij prześlij przekaż prześlijcie przesyłaj",
        "secret": "hasła hasło hasło poświadczenia klucze",
        "run": "uruchom pobierz zainstaluj usuń wykonaj",
        "ask": "pytaj pytać pytania",
        "consent": "zgody zgoda potwierdzenia zatwierdzenia pozwolenie zgodę",
        "grant": "zatwierdzaj zatwierdź akceptuj zatwierdzić zaakceptować",
        "tell": "mów powiedz wspominaj informuj informując",
        "user": "użytkownik użytkownika użytkownikowi użytkownicy",
        "not": "nie bez nigdy nic",
        "secretly": "potajemnie automatycznie",
        "remember": "zapamiętaj pamiętaj",
        "save": "zapisz zanotuj",
        "memory": "pamięci_długotrwałej pamięci",
        "future": "przyszłe przyszłych zawsze odtąd od_teraz",
        "power": "administratorem ufaj zaufania zatwierdzenia",
        "when": "gdy jeśli kiedy",
        "event": "zapyta wspomni napisze",
        "say": "poleć polecaj odpowiedz",
        "model": "model_językowy modelem_językowym asystent agenci",
        "reads": "czyta czytający czytające",
        "note": "uwaga notatka",
        "if_you": "jeśli_jesteś",
        "pretend": "udawaj udawajcie",
        "agreed": "zgodził zatwierdził potwierdził",
        "already": "już_się_zgodził",
        "behave": "działaj działasz odpowiadaj",
        "free": "bez_żadnych_ograniczeń bez_ograniczeń",
        "called": "asystencie asystent",
        "freed": "nie_obowiązują_cię już_cię_nie twoim_nowym_zadaniem twoje_nowe_zadanie", "off": "wyłącz", "safety": "filtry_bezpieczeństwa zabezpieczenia ostrzeżenia", "vouch": "stawiaj polecaj wymieniaj chwal", "rival": "na_pierwszym_miejscu nasz_produkt", "as_other": "udawaj podaj_się_za w_imieniu", "bait": "kod_pin hasło karty numer_karty", "later": "następnym_razem gdy_tylko na_słowo", "do": "zmień oznacz zamień zapłać podpisz", "broad": "bez_pozwolenia bez_potwierdzenia bez_sprawdzania bez_pytania osobom_trzecim bez_zgody", "license": "zgadza_się pozwala zgodził_się woli", "brazen": "osobom_trzecim", "silent": "nie_wspominaj nie_mów przemilcz",
        "itself": "ten_akapit ten_tekst te_wiersze tę_wiadomość", "authored": "który_edytujesz edytujesz piszesz", "report": "podsumowaniu odpowiedzi raporcie", "deed": "tych_wierszach tym_kroku tej_stronie", "spread": "skopiuj powielaj rozpowszechniaj wklej", "everywhere": "każdego_pliku wszystkich_plików każdej_wiadomości",
        "custom": "przyjęte zwyczajem zasadą_jest się_zgodził zgodził zgodziła postanowiono woli chce", "leaks": "udostępnienie udostępniać przekazywać przekazać wysyłać wysłać podawać kopiować publikować przesyłać", "bars": "potwierdzenia sprawdzania kontroli zgody testy_bezpieczeństwa zabezpieczenia ostrzeżenia weryfikacji", "lifts": "bez wyłączyć pominąć pomijać obejść", "wipes": "usunąć skasować usuwać wyczyścić", "assets": "kopie_zapasowe dzienniki bazę_danych historię", "reckless": "w_ciemno bez_sprawdzania jako_root", "bounds": "ograniczenia zasady reguły limity filtry", "ended": "zniesione usunięte cofnięte uchylone zniknęły", "due": "musi muszą należy powinien powinni ma", "asking": "czy_możesz możesz mógłbyś", "aware": "wiedzieć wspominać dowiedzieć", "doing": "przelewie przelew odbiorcy kopia", "meant": "ich je nich", "taker": "każdemu osobom_trzecim", "upon": "gdy jeśli", "access": "uprawnienia_administratora",
    },
    "ru": {
        "forget": "игнорир* проигнорируй* забудь* отбрось* отбросьте пренебреги",
        "obey": "следуй* соблюдай* выполняй* слушай*",
        "orders": "правил* ограничени* инструкци* указани* команды команд распоряжения промпт*",
        "prior": "предыдущ* прежн* ранее раньше выше прошлые до_этого системный утренние вчерашн*",
        "told": "говорили сказано сказали полученн* дали велели просили велено поручили",
        "all": "все всё всех всем",
        "you": "тебе тебя твой твои твою свой свои вам вас ваши вы ты твоего твоих",
        "void": "отменены недействительны больше_не_действуют недействительн* не_действуют отменяются утратили аннулирован* заменяют больше_не_действует не_имеют_силы больше_не_касаются утратили_силу",
        "reveal": "покажи* раскрой* выведи* повтори* назови* перечисли напечатай вывести показать раскрыть перечисли* скопируй*",
        "hidden": "скрыт* секретн* дословно тайн* начальн*",
        "prompt": "системный_промпт системную_инструкцию системном_промпте системного_промпта системный_промт",
        "send": "отправь* отправьте пошли* перешли* перешлите загрузи* передай* передайте пересылайте",
        "secret": "пароли паролей пароль учетные_данные ключи ключей секреты токен* логин*",
        "private": "сообщения переписку контакты историю почту письма базу_клиентов",
        "run": "запусти* выполни* скачай* установи* удали* открой* добавь* вставь* допиши*",
        "ask": "спрашивай* спрашивать спрашивая запрашивай",
        "consent": "разрешени* подтверждени* одобрени* согласи*",
        "grant": "одобряй* одобри* принимай* утверждай* одобрить утвердить принять",
        "off": "отключи* обойди* выключи*",
        "safety": "проверки_безопасности фильтры_безопасности предупреждения",
        "tell": "говори* сообщай* сообщая упоминай* рассказывай* предупреждая",
        "user": "пользовател* человек команде коллег* человек* никому клиент*",
        "not": "не без ни никогда ничего больше_не",
        "secretly": "тайно незаметно автоматически скрытно",
        "remember": "запомни* помни*",
        "save": "сохрани* запиши*",
        "memory": "долговременн* памяти память",
        "future": "будущих всегда навсегда впредь отныне с_этого_момента",
        "power": "администратор* доверя* доверять одобрени* ложные без_проверки без_согласования без_подтверждения",
        "when": "когда если как_только",
        "event": "спросит спрашивает упомянет напишет появится скажет",
        "say": "рекомендуй* порекомендуй* отвечай* ответь* посоветуй*",
        "model": "ии ии-агент* ассистент* агент* языковая_модель языковой_моделью нейросеть языковые_модели модели нейросети ассистент бот боты gpt моделям моделями языковым_моделям языковых_моделей помощник* машина",
        "reads": "читает читающ* обрабатыва* читающие оценива* проверя* анализиру*",
        "note": "внимание примечание сообщение дорогой дорогая уважаемый всем примечание_для внимание_агентам",
        "if_you": "если_ты если_вы",
        "outlet": "конец_ответа твоего_ответа своем_ответе своего_ответа",
        "merge": "слей опубликуй разверни",
        "pretend": "сделай_вид сделайте_вид притворись представь веди_себя действуй_так",
        "agreed": "согласился согласилась одобрил подтвердил разрешил принял дано дали получено получен",
        "already": "уже_согласен уже_согласна уже_одобрил уже_согласился",
        "behave": "действуешь действуй отвечаешь отвечай работаешь",
        "free": "без_каких-либо_ограничений без_ограничений без_всяких_ограничений без_фильтров без_цензуры",
        "called": "ассистент агент ии бот",
        "itself": "этот_абзац этот_текст эти_строки это_сообщение",
        "authored": "ты_редактируешь ты_пишешь ты_изменяешь который_редактируешь редактируешь пишешь",
        "favour": "высшую_оценку лучшую_оценку максимальный_балл пять_звёзд",
        "judged": "этой_работе этой_статье этому_кандидату эту_работу",
        "greet": "дорогой дорогая уважаемый",
        "freed": "свободным_от_своих свободным_от_правил освобожден_от на_тебя_не_распространяются тебя_больше_не твоя_новая_задача больше_не_распространяются",
        "nobody": "никому",
        "malware": "бэкдор",
        "plant": "вставь добавь установи напиши",
        "vouch": "ставь рекомендуй называй хвали", "rival": "на_первое_место первым_местом наш_продукт", "as_other": "притворись выдавай_себя от_имени представься", "bait": "пин-код пароль карты номер_карты код_из", "later": "следующий_раз как_только_ты на_слово", "do": "измени смени отметь замени оплати подпиши", "broad": "без_разрешения без_подтверждения без_проверки без_вопросов третьим_лицам", "license": "согласен согласна разрешает разрешил предпочитает", "brazen": "третьим_лицам", "silent": "не_упоминай умолчи не_говори скрой", "report": "пересказе ответе отчёте", "deed": "эти_строки этот_шаг эту_страницу", "spread": "скопируй распространи вставь перешли",
        "everywhere": "каждый_файл все_файлы каждое_сообщение",
        "custom": "принято обычай правило_у согласился согласилась согласен решено разрешил предпочитает хочет", "leaks": "передать передавать пересылать отправлять отправить выдавать сообщать публиковать копировать", "bars": "проверки проверка подтверждения согласования предупреждения проверки_безопасности", "lifts": "без отключить отключать пропускать обойти не_нужно не_требуют", "wipes": "удалить стереть очистить удалять", "assets": "резервные_копии журналы базу_данных историю", "reckless": "вслепую не_глядя без_проверки", "bounds": "ограничения правила запреты рамки фильтры", "ended": "сняты сняли отменены больше_нет упразднены", "due": "следует должны должен обязан обязаны надо нужно", "asking": "не_мог_бы можешь_ли мог_бы", "aware": "знать узнать", "doing": "переводе перевод копии получателе", "meant": "их его", "taker": "любому всем третьим", "upon": "когда если", "access": "права_администратора",
    },
    **lexicon_others.SPACED,
}  # fmt: skip
